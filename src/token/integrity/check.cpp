// Recomputes balances from the history (T4): comparing two sums would miss money that was moved
// between wallets without a transaction.
#include "token/account/accounts.h"

namespace coffer::token {
namespace {

// What a damaged history adds up to may be beyond 63 bits.
constexpr char kDifferencesSqlite[] =
    "SELECT wallet_id, balance, history_balance, entries_balance FROM wallet_consistency"
    " ORDER BY wallet_id LIMIT $1";
constexpr char kDifferencesPostgres[] =
    "SELECT wallet_id, balance, CAST(greatest(least(history_balance, 9223372036854775807),"
    " -9223372036854775807) AS BIGINT), entries_balance FROM @wallet_consistency"
    " ORDER BY wallet_id LIMIT $1";
constexpr char kRebuildPostgres[] =
    "SELECT wallet_id, balance, CAST(greatest(least(history_balance, 9223372036854775807),"
    " -9223372036854775807) AS BIGINT), entries_balance FROM @rebuild_wallet_balances($1)";
constexpr char kTotalsSqlite[] =
    "SELECT (SELECT coalesce(sum(balance), 0) FROM wallets), (SELECT coalesce(sum(amount), 0)"
    " FROM transactions WHERE from_wallet_id = to_wallet_id)";
constexpr char kTotalsPostgres[] =
    "SELECT CAST(least((SELECT coalesce(sum(balance), 0) FROM @wallets), 9223372036854775807)"
    " AS BIGINT), CAST(least((SELECT coalesce(sum(amount), 0) FROM @transactions"
    " WHERE from_wallet_id = to_wallet_id), 9223372036854775807) AS BIGINT)";
constexpr char kOrphansSqlite[] =
    "SELECT wallet_id FROM orphan_wallets ORDER BY wallet_id LIMIT $1";
constexpr char kOrphansPostgres[] =
    "SELECT wallet_id FROM @check_orphan_wallets() ORDER BY wallet_id LIMIT $1";

Result<std::vector<WalletDifference>> read_differences(const Community& community, sql::Rows rows) {
  std::vector<WalletDifference> differences;
  while (TRY(rows.next()))
    differences.push_back({TRY(community.read_id(rows, 0)), TRY(rows.get<std::int64_t>(1)),
                           TRY(rows.get<std::int64_t>(2)), TRY(rows.get<std::int64_t>(3))});
  return differences;
}

Result<std::vector<WalletDifference>> find_differences(sql::Reader& sql,
                                                       const Community& community) {
  const char* text = community.is_sqlite() ? kDifferencesSqlite : kDifferencesPostgres;
  return read_differences(community, TRY(sql.query(community.sql(text), {kMaxPage})));
}

Result<CheckReport> check_balances(sql::Reader& sql, const Community& community) {
  CheckReport report;
  report.checked_at_ms = TRY(database_now(sql, community));
  const bool sqlite = community.is_sqlite();
  const auto totals = TRY(
      sql.one<std::int64_t, std::int64_t>(community.sql(sqlite ? kTotalsSqlite : kTotalsPostgres)));
  if (!totals) return fail(Code::kInternal, "'{}' has no totals", community.name());
  std::tie(report.total_balance, report.total_issuance) = *totals;
  report.differences = TRY(find_differences(sql, community));
  sql::Rows rows =
      TRY(sql.query(community.sql(sqlite ? kOrphansSqlite : kOrphansPostgres), {kMaxPage}));
  while (TRY(rows.next())) report.orphans.push_back(TRY(community.read_id(rows, 0)));
  report.is_consistent =
      report.total_balance == report.total_issuance && report.differences.empty();
  return report;
}

// The schema of SQLite lets a balance become what the wallet's last entry says, and nothing else.
Result<std::vector<WalletDifference>> rebuild_on_sqlite(sql::Transaction& sql,
                                                        const Community& community) {
  auto differences = TRY(find_differences(sql, community));
  for (const WalletDifference& each : differences) {
    if (each.history_balance != each.entries_balance)
      return fail(Code::kCorrupt,
                  "wallet {}: its history gives {}, its entries {}; restore a backup",
                  to_string(each.wallet), each.history_balance, each.entries_balance);
    (void)TRY(sql.execute("UPDATE wallets SET balance = $2 WHERE id = $1",
                          {community.id(each.wallet), each.history_balance}));
  }
  return differences;
}

Result<std::vector<WalletDifference>> rebuild(sql::Transaction& sql, const Community& community) {
  if (community.is_sqlite()) return rebuild_on_sqlite(sql, community);
  return read_differences(community, TRY(sql.query(community.sql(kRebuildPostgres), {true})));
}

}  // namespace

// Cost: all transactions are read.
Result<CheckReport> Store::check() const {
  const Community& community = impl_->community;
  return read_as_of_now(community,
                        [&](sql::Transaction& sql) { return check_balances(sql, community); });
}

Result<std::vector<WalletDifference>> Store::rebuild_balances(bool dry_run, const Actor& actor) {
  TRY(check_actor(actor));
  const Community& community = impl_->community;
  using Differences = std::vector<WalletDifference>;
  if (dry_run)
    return read_as_of_now(community,
                          [&](sql::Transaction& sql) { return find_differences(sql, community); });
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<Differences> {
    Differences differences = TRY(rebuild(sql, community));
    if (!differences.empty())
      TRY(audit_now(sql, community, actor, "rebuild_balances", {},
                    audit_detail({{"wallets", std::to_string(differences.size())}})));
    return differences;
  });
}

}  // namespace coffer::token
