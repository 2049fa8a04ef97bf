// Wallets as they are now and as they were: one row, and one entry for a moment of the past (T13).
#include "token/account/accounts.h"
#include "token/query/by_index.h"
#include "token/query/page.h"
#include "token/query/wallet_rows.h"

namespace coffer::token {
namespace {

Result<Wallet> read_wallet(const Community& community, const sql::Rows& rows) {
  Wallet wallet;
  wallet.id = TRY(community.read_id(rows, 0));
  wallet.balance = TRY(rows.get<std::int64_t>(1));
  wallet.held = TRY(rows.get<std::int64_t>(2));
  wallet.open_holds = TRY(rows.get<std::int64_t>(3));
  wallet.is_frozen = TRY(rows.get<bool>(4));
  wallet.limits.per_transfer = TRY(rows.get<std::optional<std::int64_t>>(5));
  wallet.limits.per_day = TRY(rows.get<std::optional<std::int64_t>>(6));
  wallet.spent_today = TRY(rows.get<std::int64_t>(7));
  wallet.created_at_ms = TRY(rows.get<std::int64_t>(8));
  wallet.updated_at_ms = TRY(rows.get<std::int64_t>(9));
  const auto user = TRY(community.read_id_if(rows, 10));
  const auto account = TRY(community.read_id_if(rows, 13));
  if (user) {
    wallet.owner_type = OwnerType::kUser;
    wallet.owner = user;
    wallet.owner_name = TRY(rows.get<std::string>(11));
    wallet.owner_deleted_at_ms = TRY(rows.get<std::optional<std::int64_t>>(12));
  } else if (account) {
    wallet.owner_type = OwnerType::kSystemAccount;
    wallet.owner = account;
    wallet.owner_name = TRY(rows.get<std::string>(14));
  }
  return wallet;
}

// What follows chooses the wallets.
#define COFFER_SELECT_WALLETS                                                              \
  "SELECT w.id, w.balance, coalesce(h.held, 0), coalesce(h.open_count, 0), w.is_frozen,"   \
  " l.per_transfer, l.per_day, CASE WHEN l.day = @now / 86400000 THEN l.spent ELSE 0 END," \
  " w.created_at, w.updated_at, u.id, u.username, u.deleted_at, s.id, s.name"              \
  " FROM @wallets w LEFT JOIN @wallet_holds h ON h.wallet_id = w.id"                       \
  " LEFT JOIN @wallet_limits l ON l.wallet_id = w.id"                                      \
  " LEFT JOIN @users u ON u.wallet_id = w.id"                                              \
  " LEFT JOIN @system_accounts s ON s.wallet_id = w.id"

}  // namespace

Result<std::optional<std::int64_t>> find_balance_at(sql::Reader& sql, const Community& community,
                                                    const Uuid& wallet, std::int64_t at_ms) {
  return sql.value<std::int64_t>(
      community.sql("SELECT balance FROM @wallet_entries WHERE wallet_id = $1::uuid"
                    " AND booked_at <= $2 ORDER BY booked_at DESC, version DESC LIMIT 1"),
      {community.id(wallet), at_ms});
}

Result<std::optional<Wallet>> find_wallet_row(sql::Reader& sql, const Community& community,
                                              const Uuid& wallet) {
  sql::Rows rows = TRY(sql.query(community.sql(COFFER_SELECT_WALLETS " WHERE w.id = $1::uuid"),
                                 {community.id(wallet)}));
  if (!TRY(rows.next())) return std::nullopt;
  return TRY(read_wallet(community, rows));
}

Result<std::optional<Wallet>> Store::find_wallet(const Uuid& wallet) const {
  const Community& community = impl_->community;
  return read_as_of_now(
      community, [&](sql::Transaction& sql) { return find_wallet_row(sql, community, wallet); });
}

// In the order of ids.
Result<Page<Wallet>> Store::wallets(const PageOptions& page) const {
  TRY(check_page(page));
  const Community& community = impl_->community;
  const CursorSeal seal("wallets");
  const Place start = TRY(seal.open(page.cursor)).value_or(Place{});
  const auto fetch = [&](sql::Transaction& sql, const Place& from,
                         std::size_t limit) -> Result<std::vector<Wallet>> {
    sql::Rows rows = TRY(query_by_index(
        sql, community,
        community.sql(COFFER_SELECT_WALLETS " WHERE w.id >= $1::uuid ORDER BY w.id LIMIT $2"),
        {community.id(from.id), limit}));
    std::vector<Wallet> wallets;
    while (TRY(rows.next())) wallets.push_back(TRY(read_wallet(community, rows)));
    return wallets;
  };
  return community.database().run_transaction(
      [&](sql::Transaction& sql) {
        return walk_page<Wallet>(
            page.count, start, seal,
            [&](const Place& from, std::size_t limit) { return fetch(sql, from, limit); },
            [](const Wallet& wallet) { return Place{.id = wallet.id}; });
      },
      kRead);
}

#undef COFFER_SELECT_WALLETS

Result<std::int64_t> Store::balance_at(const Uuid& wallet, std::int64_t at_ms) const {
  const Community& community = impl_->community;
  return community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<std::int64_t> {
        if (const auto balance = TRY(find_balance_at(sql, community, wallet, at_ms)))
          return *balance;
        TRY(expect_wallet(sql, community, wallet));
        return 0;
      },
      kRead);
}

}  // namespace coffer::token
