// What the files of the store share.
#pragma once

#include <atomic>

#include <coffer/chain/address.h>
#include <coffer/wallet/store.h>
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/display.h"

namespace coffer::wallet {

struct Store::Counters {
  std::atomic<std::uint64_t> invalidations{0}, leases_cleaned{0}, lease_cleanups{0};
  std::atomic<std::uint64_t> lease_cleanup_us{0};
};

// Doing any of these twice is the same as once (E3).
inline constexpr sql::TransactionOptions kWrite = {.idempotent = true};
inline constexpr sql::TransactionOptions kRead = {.access = sql::Access::kRead};

// The number of rows to ask for, at least `wanted`: one of a few, because it stands in the text of
// the statement. PostgreSQL plans a statement anew each time if a parameter says how many rows.
std::size_t rows_to_read(std::size_t wanted);
// Errors: kInvalidInput for a count of 0 or above kMaxPage.
Result<> check_page(const PageOptions& page);
// Cursors of pages that go by one number. Errors: kInvalidInput.
Result<std::optional<std::int64_t>> number_cursor(std::string_view cursor);
// Those of pages that go by several, with dots between them. Errors: kInvalidInput.
Result<std::vector<std::int64_t>> cursor_parts(std::string_view cursor, std::size_t count);
std::unexpected<Error> bad_cursor();

// A column of the database that holds one of these. Errors: kInvalidInput.
inline Result<TxStatus> read_status(const sql::Rows& rows, int column) {
  const std::string_view text = TRY(rows.get<std::string_view>(column));
  return parse_status(text);
}
inline Result<CoinState> read_state(const sql::Rows& rows, int column) {
  const std::string_view text = TRY(rows.get<std::string_view>(column));
  return parse_state(text);
}

// ---- leases (leases.cpp) ----
// After the table's name: SQLite would look through all leases of the wallet for a lock id.
inline std::string_view by_lock_id(const sql::Reader& sql) {
  return sql.dialect() == sql::Dialect::kSqlite ? " INDEXED BY idx_utxo_leases_by_lock" : "";
}
// Takes a coin's lease if it is free, expired or held by the same lock id: $1 wallet, $2 coin, $3
// lock id, $4 until; never to an earlier end. A row with the end if it did.
inline constexpr std::string_view kTakeLease =
    "INSERT INTO utxo_leases (wallet_id, utxo_id, external_lock_id, expires_at)"
    " VALUES ($1, $2, $3, $4) ON CONFLICT (wallet_id, utxo_id) DO UPDATE"
    " SET external_lock_id = excluded.external_lock_id, expires_at = CASE"
    "   WHEN utxo_leases.external_lock_id = excluded.external_lock_id"
    "     AND utxo_leases.expires_at > excluded.expires_at"
    "   THEN utxo_leases.expires_at ELSE excluded.expires_at END"
    " WHERE utxo_leases.expires_at <= coffer_now()"
    " OR utxo_leases.external_lock_id = excluded.external_lock_id RETURNING expires_at";
// Nobody else changes the coin until the end of the SQL transaction.
Result<> lock_coin(sql::Transaction& sql, WalletId wallet, std::uint64_t coin);
Result<> check_duration(std::int64_t duration_ms);  // Errors: kInvalidInput

// Store::coins() inside a transaction that has begun, without labels (coins.cpp).
Result<Page<Coin>> find_coins(sql::Transaction& sql, WalletId wallet, const CoinQuery& query);
// At most kMaxLeasedAtOnce.
Result<std::vector<Coin>> coins_leased_by(sql::Transaction& sql, WalletId wallet,
                                          const LockId& lock_id);

// Errors: kNotFound.
Result<WalletInfo> wallet_row(sql::Reader& sql, std::string_view where, sql::Params params,
                              std::string_view what);
// All whose rows meet the condition, by id.
Result<std::vector<WalletInfo>> wallet_rows(sql::Reader& sql, std::string_view where,
                                            sql::Params params);
Result<> require_wallet(sql::Reader& sql, WalletId wallet);
Result<std::uint64_t> require_account(sql::Reader& sql, WalletId wallet, std::string_view name);

}  // namespace coffer::wallet
