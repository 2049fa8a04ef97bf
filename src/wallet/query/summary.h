// A look at a database of wallets by somebody who only passes by: nothing is made or brought up to
// date.
#pragma once

#include "bus/event.h"
#include "chain/network.h"
#include "sql/database.h"

namespace coffer::wallet {

struct Glance {
  std::uint64_t wallets = 0;
  bus::Position position;
};
// Errors: kNotFound if it has no wallets' tables yet; those of sql::migration_status().
Result<Glance> glance(sql::Database& database, const chain::Network& network);

}  // namespace coffer::wallet
