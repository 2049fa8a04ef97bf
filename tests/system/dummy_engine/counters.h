// The smallest engine: one counter in an SQL table.
#pragma once

#include <coffer/chain/network.h>
#include "sql/migrations.h"

namespace coffer::dummy {

std::span<const sql::Migration> embedded_migrations();
sql::MigrateOptions migrations(const chain::Network& network);

Result<std::uint64_t> read_visits(sql::Database& database);

}  // namespace coffer::dummy
