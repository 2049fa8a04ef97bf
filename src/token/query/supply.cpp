// Where all tokens are, and 002's statistics, which are as old as their last refresh.
#include "token/account/accounts.h"

namespace coffer::token {
namespace {

Result<std::optional<Statistics>> read_statistics(sql::Reader& sql, std::string_view text) {
  sql::Rows rows = TRY(sql.query(text));
  if (!TRY(rows.next())) return std::nullopt;
  Statistics statistics;
  statistics.issuance = TRY(rows.get<std::int64_t>(0));
  statistics.circulation = TRY(rows.get<std::int64_t>(1));
  statistics.pool = TRY(rows.get<std::int64_t>(2));
  statistics.users = TRY(rows.get<std::int64_t>(3));
  statistics.transactions = TRY(rows.get<std::int64_t>(4));
  statistics.updated_at_ms = TRY(rows.get<std::int64_t>(5));
  return statistics;
}

constexpr char kStatistics[] =
    "SELECT total_issuance, circulating_supply, system_pool, total_users, total_transactions,"
    " updated_at FROM @token_statistics ORDER BY updated_at DESC LIMIT 1";
constexpr char kStatisticsNow[] =
    "SELECT total_issuance, circulating_supply, system_pool, total_users, total_transactions,"
    " updated_at FROM token_statistics_now";

// Everything is added up in a transaction that only reads, so that writers go on; only the row is
// written. A refresh that began later may have written a younger one.
Result<Statistics> refresh_on_sqlite(const Community& community) {
  const auto now = TRY(read_as_of_now(
      community, [&](sql::Transaction& sql) { return read_statistics(sql, kStatisticsNow); }));
  if (!now) return fail(Code::kInternal, "'{}' has no statistics", community.name());
  return community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<Statistics> {
        const auto stored = TRY(read_statistics(sql, community.sql(kStatistics)));
        if (stored && stored->updated_at_ms > now->updated_at_ms) return *stored;
        (void)TRY(sql.execute("DELETE FROM token_statistics"));
        (void)TRY(
            sql.execute("INSERT INTO token_statistics (total_issuance, circulating_supply,"
                        " system_pool, total_users, total_transactions, updated_at)"
                        " VALUES ($1, $2, $3, $4, $5, $6)",
                        {now->issuance, now->circulation, now->pool, now->users, now->transactions,
                         now->updated_at_ms}));
        return *now;
      },
      kWrite);
}

}  // namespace

// Cost: every wallet is read.
Result<Supply> Store::supply() const {
  const Community& community = impl_->community;
  return read_as_of_now(community, [&](sql::Transaction& sql) -> Result<Supply> {
    sql::Rows rows =
        TRY(sql.query(community.sql("SELECT CAST(circulating_supply AS BIGINT),"
                                    " CAST(system_pool AS BIGINT), CAST(deleted_users AS BIGINT),"
                                    " CAST(ownerless AS BIGINT), CAST(total_issuance AS BIGINT)"
                                    " FROM @supply")));
    if (!TRY(rows.next())) return fail(Code::kInternal, "'{}' has no supply", community.name());
    Supply supply;
    supply.circulation = TRY(rows.get<std::int64_t>(0));
    supply.pool = TRY(rows.get<std::int64_t>(1));
    supply.deleted_users = TRY(rows.get<std::int64_t>(2));
    supply.ownerless = TRY(rows.get<std::int64_t>(3));
    supply.issuance = TRY(rows.get<std::int64_t>(4));
    return supply;
  });
}

Result<std::optional<Statistics>> Store::statistics() const {
  const Community& community = impl_->community;
  return read_as_of_now(community, [&](sql::Transaction& sql) {
    return read_statistics(sql, community.sql(kStatistics));
  });
}

Result<Statistics> Store::refresh_statistics() {
  const Community& community = impl_->community;
  if (community.is_sqlite()) return refresh_on_sqlite(community);
  return community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<Statistics> {
        TRY(sql.query(community.sql("SELECT @refresh_token_statistics()")));
        const auto stored = TRY(read_statistics(sql, community.sql(kStatistics)));
        if (!stored) return fail(Code::kInternal, "'{}' has no statistics", community.name());
        return *stored;
      },
      kWrite);
}

}  // namespace coffer::token
