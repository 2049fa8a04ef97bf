// What a status page shows of a database of wallets, read without creating or migrating anything.
#pragma once

#include <coffer/bus/event.h>
#include <coffer/chain/network.h>
#include "sql/connection.h"

namespace coffer::wallet {

struct DatabaseSummary {
  std::uint64_t wallets = 0;
  bus::Position position;
};
// Errors: kNotFound if it has no wallets' tables yet; those of sql::migration_status().
Result<DatabaseSummary> read_summary(sql::Database& database, const chain::Network& network);

}  // namespace coffer::wallet
