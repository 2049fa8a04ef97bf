#include "token/query/counts.h"

#include "base/result.h"
#include "token/store_impl.h"

namespace coffer::token {
namespace {

constexpr char kWallets[] =
    "SELECT count(*), count(*) FILTER (WHERE is_frozen),"
    " CAST(coalesce(sum(balance) FILTER (WHERE is_frozen), 0) AS BIGINT) FROM @wallets";

// The version of a wallet's last entry counts its changes (T13).
constexpr char kSystemChanges[] =
    "SELECT CAST(coalesce(sum((SELECT e.version FROM @wallet_entries e"
    " WHERE e.wallet_id = s.wallet_id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1)), 0)"
    " AS BIGINT) FROM @system_accounts s";

}  // namespace

Result<LedgerCounts> count_ledger(const Community& community) {
  return community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<LedgerCounts> {
        LedgerCounts counts;
        const auto wallets =
            TRY((sql.one<std::uint64_t, std::uint64_t, std::int64_t>(community.sql(kWallets))));
        if (wallets)
          std::tie(counts.wallets, counts.frozen_wallets, counts.frozen_balance) = *wallets;
        const auto changes = TRY(sql.value<std::uint64_t>(community.sql(kSystemChanges)));
        counts.system_wallet_changes = changes.value_or(0);
        return counts;
      },
      kRead);
}

}  // namespace coffer::token
