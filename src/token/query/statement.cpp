// Statements: the steps of a wallet's balance in the order in which they were booked (T13). A page
// reads its own entries and nothing of the rest of the history.
#include "token/account/accounts.h"
#include "token/query/by_index.h"
#include "token/query/page.h"
#include "token/query/wallet_rows.h"

namespace coffer::token {
namespace {

constexpr char kStatementLines[] =
    "SELECT x.booked_at, x.version, x.transaction_id, x.counterparty,"
    " coalesce((SELECT u.username FROM @users u WHERE u.wallet_id = x.counterparty),"
    " (SELECT s.name FROM @system_accounts s WHERE s.wallet_id = x.counterparty), ''),"
    " x.delta, x.balance, x.transaction_type, x.memo FROM (SELECT e.booked_at, e.version,"
    " e.transaction_id, CASE WHEN t.from_wallet_id = $1::uuid THEN t.to_wallet_id"
    " ELSE t.from_wallet_id END AS counterparty, e.delta, e.balance, t.transaction_type, d.memo"
    " FROM (SELECT * FROM @wallet_entries WHERE wallet_id = $1::uuid"
    " AND (booked_at, version) >= ($2, $3) AND booked_at < $4"
    " ORDER BY booked_at, version LIMIT $5) e"
    " JOIN @transactions t ON t.id = e.transaction_id"
    " LEFT JOIN @transaction_details d ON d.transaction_id = e.transaction_id) x"
    " ORDER BY x.booked_at, x.version";

Result<std::vector<StatementLine>> read_statement_lines(sql::Transaction& sql,
                                                        const Community& community,
                                                        const Store::StatementQuery& query,
                                                        const Place& from, std::size_t limit) {
  sql::Rows rows = TRY(
      query_by_index(sql, community, community.sql(kStatementLines),
                     {community.id(query.wallet), from.number, from.second, query.to_ms, limit}));
  std::vector<StatementLine> lines;
  while (TRY(rows.next())) {
    StatementLine line;
    line.booked_at_ms = TRY(rows.get<std::int64_t>(0));
    line.version = TRY(rows.get<std::uint64_t>(1));
    line.transaction = TRY(community.read_id(rows, 2));
    line.counterparty = TRY(community.read_id(rows, 3));
    line.counterparty_name = TRY(rows.get<std::string>(4));
    line.delta = TRY(rows.get<std::int64_t>(5));
    line.balance = TRY(rows.get<std::int64_t>(6));
    line.type = TRY(rows.get<int>(7));
    line.memo = TRY(rows.get<std::optional<std::string>>(8));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

Result<Store::Statement> Store::statement(const StatementQuery& query) const {
  TRY(check_page(query.page));
  const Community& community = impl_->community;
  CursorSeal seal("statement");
  seal.add(std::optional(query.wallet)).add(query.from_ms).add(query.to_ms);
  const Place first{.number = std::max<std::int64_t>(query.from_ms, 0)};
  const Place start = TRY(seal.open(query.page.cursor)).value_or(first);
  return read_as_of_now(community, [&](sql::Transaction& sql) -> Result<Statement> {
    Statement statement;
    statement.lines = TRY(walk_page<StatementLine>(
        query.page.count, start, seal,
        [&](const Place& from, std::size_t limit) {
          return read_statement_lines(sql, community, query, from, limit);
        },
        [](const StatementLine& line) {
          return Place{.number = line.booked_at_ms,
                       .second = static_cast<std::int64_t>(line.version)};
        }));
    if (!statement.lines.items.empty()) {
      const StatementLine& line = statement.lines.items.front();
      statement.opening_balance = line.balance - line.delta;
      return statement;
    }
    const auto before = TRY(find_balance_at(sql, community, query.wallet, start.number - 1));
    if (!before) TRY(expect_wallet(sql, community, query.wallet));
    statement.opening_balance = before.value_or(0);
    return statement;
  });
}

}  // namespace coffer::token
