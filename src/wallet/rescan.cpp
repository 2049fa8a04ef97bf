// What is left of rescans. The looking itself is Feed::rescan_block().
#include "wallet/ledger_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {

Result<WalletInfo> Store::request_rescan(WalletId wallet, std::uint64_t from_height) {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<WalletInfo> {
        TRY(share_writing(sql));
        TRY(Ledger(sql, wallet).lock());
        const std::int64_t tip = TRY(sql.value<std::int64_t>("SELECT tip_height FROM sync_state"))
        .value_or(-1);
        if (static_cast<std::int64_t>(from_height) > tip)
          return fail(Code::kInvalidInput,
                      "the wallets stand at height {}; blocks above it are looked at anyway", tip);
        const std::string name = fmt::format("{}", wallet);
        const WalletInfo before = TRY(wallet_row(sql, "id = $1", {wallet}, name));
        const std::uint64_t next = std::min(from_height, before.rescan_next.value_or(from_height));
        (void)TRY(sql.execute("UPDATE wallets SET rescan_next = $2, rescan_to = $3 WHERE id = $1",
                              {wallet, next, tip}));
        return wallet_row(sql, "id = $1", {wallet}, name);
      },
      kWrite);
}

Result<> Store::save_rescan(WalletId wallet, std::uint64_t next) {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<> {
        // Who asked for more meanwhile is not forgotten.
        (void)TRY(
            sql.execute("UPDATE wallets SET rescan_next = CASE WHEN rescan_to >= $2 THEN CAST($2 "
                        "AS BIGINT) END,"
                        " rescan_to = CASE WHEN rescan_to >= $2 THEN rescan_to END"
                        " WHERE id = $1 AND rescan_next < $2",
                        {wallet, next}));
        return {};
      },
      kWrite);
}

Result<std::vector<WalletInfo>> Store::requested_rescans() const {
  auto connection = TRY(database_.acquire());
  return wallet_rows(connection, "rescan_next IS NOT NULL", {});
}

}  // namespace coffer::wallet
