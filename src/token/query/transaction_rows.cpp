#include "token/query/transaction_rows.h"

#include "sql/postgres_array.h"
#include "token/query/by_index.h"

namespace coffer::token {
namespace {

// By id, sender and recipient as `k`.
#define COFFER_DESCRIBE_TRANSACTION                                                 \
  "SELECT coalesce((SELECT u.username FROM @users u WHERE u.wallet_id = k.sender)," \
  " (SELECT s.name FROM @system_accounts s WHERE s.wallet_id = k.sender), ''),"     \
  " coalesce((SELECT u.username FROM @users u WHERE u.wallet_id = k.recipient),"    \
  " (SELECT s.name FROM @system_accounts s WHERE s.wallet_id = k.recipient), ''),"  \
  " d.memo, d.metadata, d.erased_at, coalesce(d.actor, ''), a.reversal_id,"         \
  " b.transaction_id, v.position FROM "
#define COFFER_DESCRIBE_FROM                                     \
  " LEFT JOIN @transaction_details d ON d.transaction_id = k.id" \
  " LEFT JOIN @reversals a ON a.transaction_id = k.id"           \
  " LEFT JOIN @reversals b ON b.reversal_id = k.id LEFT JOIN @log_leaves v ON v.id = k.id"

constexpr char kDescribeOne[] = COFFER_DESCRIBE_TRANSACTION
    "(SELECT $1 AS id, $2 AS sender, $3 AS recipient) k" COFFER_DESCRIBE_FROM;
constexpr char kDescribeMany[] = COFFER_DESCRIBE_TRANSACTION
    "unnest($1::uuid[], $2::uuid[], $3::uuid[]) WITH ORDINALITY AS k (id, sender, recipient, "
    "n)" COFFER_DESCRIBE_FROM " ORDER BY k.n";

#undef COFFER_DESCRIBE_TRANSACTION
#undef COFFER_DESCRIBE_FROM

Result<> read_description(const Community& community, sql::Rows& rows, Transaction& transaction) {
  if (!TRY(rows.next()))
    return fail(Code::kInternal, "nothing is known about {}", to_string(transaction.id));
  transaction.from_name = TRY(rows.get<std::string>(0));
  transaction.to_name = TRY(rows.get<std::string>(1));
  transaction.memo = TRY(rows.get<std::optional<std::string>>(2));
  transaction.metadata = TRY(rows.get<std::optional<std::string>>(3));
  transaction.details_erased_at_ms = TRY(rows.get<std::optional<std::int64_t>>(4));
  transaction.actor = TRY(rows.get<std::string>(5));
  transaction.reversed_by = TRY(community.read_id_if(rows, 6));
  transaction.reverses = TRY(community.read_id_if(rows, 7));
  transaction.log_position = TRY(rows.get<std::optional<std::uint64_t>>(8));
  return {};
}

}  // namespace

Result<Transaction> read_transaction(const Community& community, const sql::Rows& rows) {
  Transaction transaction;
  transaction.id = TRY(community.read_id(rows, 0));
  transaction.from = TRY(community.read_id(rows, 1));
  transaction.to = TRY(community.read_id(rows, 2));
  transaction.amount = TRY(rows.get<std::int64_t>(3));
  transaction.type = TRY(rows.get<int>(4));
  transaction.created_at_ms = TRY(rows.get<std::int64_t>(5));
  return transaction;
}

Result<> describe_transactions(sql::Transaction& sql, const Community& community,
                               std::span<Transaction> transactions) {
  if (transactions.empty()) return {};
  if (community.is_sqlite()) {
    for (Transaction& each : transactions) {
      sql::Rows rows =
          TRY(sql.query(community.sql(kDescribeOne),
                        {community.id(each.id), community.id(each.from), community.id(each.to)}));
      TRY(read_description(community, rows, each));
    }
    return {};
  }
  using sql::PostgresArray;
  PostgresArray ids(PostgresArray::Element::kUuid), senders(PostgresArray::Element::kUuid),
      recipients(PostgresArray::Element::kUuid);
  for (const Transaction& each : transactions) {
    ids.add(each.id);
    senders.add(each.from);
    recipients.add(each.to);
  }
  sql::Rows rows = TRY(query_by_index(sql, community, community.sql(kDescribeMany),
                                      {ids.view(), senders.view(), recipients.view()}));
  for (Transaction& each : transactions) TRY(read_description(community, rows, each));
  return {};
}

}  // namespace coffer::token
