// The tables of the wallet: their migrations, and whose data they may hold.
#pragma once

#include <coffer/chain/network.h>

#include <span>

#include "sql/migrations.h"

namespace coffer::wallet {

// The migrations of module `wallet`, by dialect and version (generated from migrations/).
std::span<const sql::Migration> embedded_migrations();
// These migrations, and the network as the owner of the data (E5). Thread-safe.
sql::MigrateOptions migrations(const chain::Network& network);
// The same, but a database of another network that holds no wallet and no block may be taken over:
// a first sync that failed leaves such a one.
sql::MigrateOptions reusing_migrations(const chain::Network& network);

}  // namespace coffer::wallet
