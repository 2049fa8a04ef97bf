// What is left of rescans. The looking itself is Consumer::rescan_block().
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {

Result<WalletInfo> Store::request_rescan(WalletId wallet, std::uint64_t from_height) {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<WalletInfo> {
        TRY(lock_writers_shared(sql));
        TRY(TxLifecycle(sql, wallet).lock());
        const std::int64_t tip =
            TRY(sql.value<std::int64_t>("SELECT tip_height FROM sync_state")).value_or(-1);
        if (static_cast<std::int64_t>(from_height) > tip)
          return fail(Code::kInvalidInput,
                      "the wallets stand at height {}; blocks above it are looked at anyway", tip);
        const std::string name = fmt::format("{}", wallet);
        const WalletInfo before = TRY(wallet_row(sql, "id = $1", {wallet}, name));
        const std::uint64_t next = std::min(from_height, before.rescan_next.value_or(from_height));
        (void)TRY(
            sql.execute("UPDATE wallets SET rescan_next = $2, rescan_to = $3,"
                        " rescans_asked = rescans_asked + 1 WHERE id = $1",
                        {wallet, next, tip}));
        return wallet_row(sql, "id = $1", {wallet}, name);
      },
      kWrite);
}

Result<std::optional<WalletInfo>> Store::save_rescan(const WalletInfo& asked, std::uint64_t next) {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<std::optional<WalletInfo>> {
        // Coins and addresses that the rescan has found are known to the follower from here on: no
        // block may be passed between the last one looked at and this.
        TRY(lock_writers_exclusive(sql));
        const std::int64_t tip =
            TRY(sql.value<std::int64_t>("SELECT tip_height FROM sync_state")).value_or(-1);
        std::optional<std::uint64_t> more, last;
        if (static_cast<std::int64_t>(next) <= tip)
          more = next, last = static_cast<std::uint64_t>(tip);
        (void)TRY(
            sql.execute("UPDATE wallets SET rescan_next = $3, rescan_to = $4 WHERE id = $1"
                        " AND rescans_asked = $2",
                        {asked.id, asked.rescans_asked, more, last}));
        WalletInfo left = TRY(wallet_row(sql, "id = $1", {asked.id}, asked.name));
        if (!left.rescan_next) return std::nullopt;
        return left;
      },
      kWrite);
}

Result<std::vector<WalletInfo>> Store::requested_rescans() const {
  auto connection = TRY(database_.acquire());
  return wallet_rows(connection, "rescan_next IS NOT NULL", {});
}

}  // namespace coffer::wallet
