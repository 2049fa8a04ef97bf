// Leases on coins (000 §3.4, W8). The time is the database's own.
// A coin's row is locked before its lease is written, and a spender writes the coin before it looks
// at leases: whoever comes second sees the first.
#include "base/result.h"
#include "base/stopwatch.h"
#include "sql/connection.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

struct CoinRow {
  std::uint64_t id = 0;
  chain::Outpoint outpoint;
  CoinState state = CoinState::kSpent;
};

// The coins in the order of their ids, each once, and nobody else changes them.
Result<std::vector<CoinRow>> lock_coins(sql::Transaction& sql, WalletId wallet,
                                        std::span<const chain::Outpoint> outpoints) {
  if (outpoints.empty() || outpoints.size() > kMaxLeasedAtOnce)
    return fail(Code::kInvalidInput, "1 to {} coins at once, not {}", kMaxLeasedAtOnce,
                outpoints.size());
  std::vector<CoinRow> coins;
  for (const chain::Outpoint& outpoint : outpoints) {
    const auto id = TRY(sql.value<std::uint64_t>(
        "SELECT u.id FROM transactions t JOIN utxos u ON u.wallet_id = t.wallet_id"
        " AND u.tx_id = t.id WHERE t.wallet_id = $1 AND t.tx_hash = $2 AND u.output_index = $3",
        {wallet, outpoint.tx, outpoint.index}));
    if (!id) return fail(Code::kNotFound, "this wallet has no coin {}", to_display(outpoint));
    coins.push_back({*id, outpoint, CoinState::kSpent});
  }
  std::sort(coins.begin(), coins.end(), [](auto& a, auto& b) { return a.id < b.id; });
  const auto twice =
      std::adjacent_find(coins.begin(), coins.end(), [](auto& a, auto& b) { return a.id == b.id; });
  if (twice != coins.end())
    return fail(Code::kInvalidInput, "{} is named twice", to_display(twice->outpoint));
  for (CoinRow& coin : coins) {
    TRY(lock_coin(sql, wallet, coin.id));
    const auto state = TRY(sql.value<std::string>(
        "SELECT state FROM coin_states WHERE wallet_id = $1 AND id = $2", {wallet, coin.id}));
    if (!state)
      return fail(Code::kNotFound, "this wallet has no coin {}", to_display(coin.outpoint));
    coin.state = TRY(parse_state(*state));
  }
  return coins;
}

bool is_leasable(CoinState state) {
  return state == CoinState::kConfirmed || state == CoinState::kUnconfirmed ||
         state == CoinState::kPending;
}

// Does something to each of the coins, with the time at which the lease is to end; all or nothing.
// The end of the first that ends.
template <typename Each>
Result<std::int64_t> lease_each(sql::Database& database, WalletId wallet,
                                const LeaseRequest& request, Each each) {
  TRY(check_duration(request.duration_ms));
  return database.run_transaction(
      [&](sql::Transaction& sql) -> Result<std::int64_t> {
        TRY(require_wallet(sql, wallet));
        const std::vector<CoinRow> coins = TRY(lock_coins(sql, wallet, request.coins));
        const auto until = TRY(sql.value<std::int64_t>("SELECT coffer_now() + CAST($1 AS BIGINT)",
                                                       {request.duration_ms}));
        auto first = std::numeric_limits<std::int64_t>::max();
        for (const CoinRow& coin : coins) first = std::min(first, TRY(each(sql, coin, *until)));
        return first;
      },
      kWrite);
}

}  // namespace

Result<> check_duration(std::int64_t duration_ms) {
  if (duration_ms >= 1 && duration_ms <= kMaxLeaseMs) return {};
  return fail(Code::kInvalidInput, "a lease lasts from 1 ms to a year, not {} ms", duration_ms);
}

Result<> lock_coin(sql::Transaction& sql, WalletId wallet, std::uint64_t coin) {
  if (sql.dialect() == sql::Dialect::kSqlite) return {};  // one writer at a time anyway
  (void)TRY(sql.query("SELECT id FROM utxos WHERE wallet_id = $1 AND id = $2 FOR NO KEY UPDATE",
                      {wallet, coin}));
  return {};
}

Result<std::int64_t> Store::lease(WalletId wallet, const LeaseRequest& request) {
  const auto take = [&](sql::Transaction& sql, const CoinRow& coin,
                        std::int64_t until) -> Result<std::int64_t> {
    if (!is_leasable(coin.state))
      return fail(Code::kConflict, "{} is {} and cannot be leased", to_display(coin.outpoint),
                  to_string(coin.state));
    const auto taken =
        TRY(sql.value<std::int64_t>(kTakeLease, {wallet, coin.id, request.lock_id, until}));
    if (taken) return *taken;
    return fail(Code::kConflict, "{} is leased by another lock id", to_display(coin.outpoint));
  };
  return lease_each(database_, wallet, request, take);
}

Result<std::int64_t> Store::renew(WalletId wallet, const LeaseRequest& request) {
  const auto prolong = [&](sql::Transaction& sql, const CoinRow& coin,
                           std::int64_t until) -> Result<std::int64_t> {
    const auto renewed = TRY(sql.value<std::int64_t>(
        "UPDATE utxo_leases SET expires_at = CASE WHEN expires_at > $4 THEN expires_at ELSE $4 END"
        " WHERE wallet_id = $1 AND utxo_id = $2 AND external_lock_id = $3"
        " AND expires_at > coffer_now() RETURNING expires_at",
        {wallet, coin.id, request.lock_id, until}));
    if (renewed) return *renewed;
    return fail(Code::kConflict, "this lock id does not hold {} now", to_display(coin.outpoint));
  };
  return lease_each(database_, wallet, request, prolong);
}

Result<> Store::release(WalletId wallet, std::span<const chain::Outpoint> outpoints,
                        const LockId& lock_id) {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<> {
        TRY(require_wallet(sql, wallet));
        const std::vector<CoinRow> coins = TRY(lock_coins(sql, wallet, outpoints));
        for (const CoinRow& coin : coins) {
          (void)TRY(
              sql.execute("DELETE FROM utxo_leases WHERE wallet_id = $1 AND utxo_id = $2"
                          " AND (external_lock_id = $3 OR expires_at <= coffer_now())",
                          {wallet, coin.id, lock_id}));
          if (TRY(sql.value<std::int64_t>(
                  "SELECT expires_at FROM utxo_leases WHERE wallet_id = $1 AND utxo_id = $2",
                  {wallet, coin.id})))
            return fail(Code::kConflict, "{} is leased by another lock id",
                        to_display(coin.outpoint));
        }
        return {};
      },
      kWrite);
}

Result<std::uint64_t> Store::release_all(WalletId wallet, const LockId& lock_id) {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<std::uint64_t> {
        TRY(require_wallet(sql, wallet));
        const std::int64_t gone =
            TRY(sql.execute(fmt::format("DELETE FROM utxo_leases{} WHERE wallet_id = $1"
                                        " AND external_lock_id = $2 AND expires_at > coffer_now()",
                                        by_lock_id(sql)),
                            {wallet, lock_id}));
        return static_cast<std::uint64_t>(gone);
      },
      kWrite);
}

Result<Page<LeasedCoin>> Store::leases(WalletId wallet, const PageOptions& page) const {
  TRY(check_page(page));
  const std::int64_t after = TRY(number_cursor(page.cursor)).value_or(0);
  auto connection = TRY(database_.acquire());
  TRY(require_wallet(connection, wallet));
  sql::Rows rows = TRY(connection.query(
      "SELECT l.utxo_id, c.tx_hash, c.output_index, c.amount, c.state, l.external_lock_id,"
      " l.expires_at FROM utxo_leases l JOIN coin_states c ON c.wallet_id = l.wallet_id"
      " AND c.id = l.utxo_id WHERE l.wallet_id = $1 AND l.utxo_id > $2"
      " AND l.expires_at > coffer_now() ORDER BY l.utxo_id LIMIT $3",
      {wallet, after, page.count + 1}));
  Page<LeasedCoin> answer;
  std::uint64_t last = 0;
  while (TRY(rows.next())) {
    if (answer.items.size() == page.count) {
      answer.cursor = std::to_string(last);
      break;
    }
    last = TRY(rows.get<std::uint64_t>(0));
    LeasedCoin coin;
    coin.outpoint.tx = TRY(rows.get<Hash256>(1));
    coin.outpoint.index = TRY(rows.get<std::uint32_t>(2));
    coin.amount = TRY(rows.get<Amount>(3));
    coin.state = TRY(read_state(rows, 4));
    coin.lease.lock_id = TRY(rows.get<LockId>(5));
    coin.lease.expires_at_ms = TRY(rows.get<std::int64_t>(6));
    answer.items.push_back(coin);
  }
  return answer;
}

Result<std::uint64_t> Store::clean_leases(std::size_t limit) {
  const Stopwatch watch;
  const std::int64_t gone = TRY(database_.run_transaction([&](sql::Transaction& sql) {
    return sql.execute(
        "DELETE FROM utxo_leases WHERE (wallet_id, utxo_id) IN (SELECT wallet_id, utxo_id"
        " FROM utxo_leases WHERE expires_at <= coffer_now() ORDER BY expires_at LIMIT $1)"
        " AND expires_at <= coffer_now()",
        {limit});
  }));
  ++counters_->lease_cleanups;
  counters_->leases_cleaned += static_cast<std::uint64_t>(gone);
  counters_->lease_cleanup_us += static_cast<std::uint64_t>(watch.seconds() * 1e6);
  return static_cast<std::uint64_t>(gone);
}

}  // namespace coffer::wallet
