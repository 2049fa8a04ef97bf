// What the metrics of a community show besides its statistics (002, "Key Metrics").
#pragma once

#include "token/community.h"

namespace coffer::token {

struct LedgerCounts {
  std::uint64_t wallets = 0;
  std::uint64_t frozen_wallets = 0;
  std::int64_t frozen_balance = 0;
  std::uint64_t system_wallet_changes = 0;  // of the balances of all system wallets, ever
};

// Cost: every wallet is read. Thread-safe.
Result<LedgerCounts> count_ledger(const Community& community);

}  // namespace coffer::token
