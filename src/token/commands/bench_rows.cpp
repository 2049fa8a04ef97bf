#include "token/commands/bench_rows.h"

#include <coffer/base/clock.h>
#include "sql/connection.h"
#include "sql/postgres_array.h"
#include "token/commands/bench_ledgers.h"

namespace coffer::token {
namespace {

using sql::PostgresArray;
using Element = PostgresArray::Element;

constexpr std::int64_t kPlenty = 1'000'000'000'000;

constexpr std::string_view kTables = R"(
CREATE SCHEMA @raw;
CREATE TABLE @raw.wallets (LIKE @like.wallets INCLUDING ALL);
CREATE TABLE @raw.transactions (LIKE @like.transactions INCLUDING ALL,
  FOREIGN KEY (from_wallet_id) REFERENCES @raw.wallets (id) DEFERRABLE INITIALLY DEFERRED,
  FOREIGN KEY (to_wallet_id) REFERENCES @raw.wallets (id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE @raw.wallet_entries (LIKE @like.wallet_entries INCLUDING ALL);
CREATE TABLE @raw.log_outbox (LIKE @like.log_outbox INCLUDING ALL);
CREATE TABLE @raw.transaction_details (LIKE @like.transaction_details INCLUDING ALL);
)";

constexpr std::string_view kWallets =
    "INSERT INTO @raw.wallets (id, balance, created_at, updated_at)"
    " SELECT u.id, $2::bigint, 1, 1 FROM unnest($1::uuid[]) AS u (id)";

constexpr std::string_view kTransactions =
    "INSERT INTO @raw.transactions (id, from_wallet_id, to_wallet_id, amount, transaction_type,"
    " created_at) SELECT u.id, u.sender, u.recipient, u.amount, 1, $5::bigint"
    " FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[])"
    " AS u (id, sender, recipient, amount)";

constexpr std::string_view kEntries =
    "INSERT INTO @raw.wallet_entries (wallet_id, version, transaction_id, delta, balance,"
    " booked_at) SELECT u.wallet, u.version, u.id, u.delta, u.balance, $6::bigint"
    " FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::bigint[], $5::bigint[])"
    " AS u (wallet, version, id, delta, balance)";

constexpr std::string_view kBalances =
    "UPDATE @raw.wallets w SET balance = u.balance, updated_at = $3::bigint"
    " FROM unnest($1::uuid[], $2::bigint[]) AS u (id, balance) WHERE w.id = u.id";

constexpr std::string_view kOutbox =
    "INSERT INTO @raw.log_outbox (id, kind, at, place) SELECT u.id, 1, $2::bigint, $2::bigint + u.n"
    " FROM unnest($1::uuid[]) WITH ORDINALITY AS u (id, n)";

constexpr std::string_view kDetails =
    "INSERT INTO @raw.transaction_details (transaction_id, actor)"
    " SELECT u.id, 'user:bench' FROM unnest($1::uuid[]) AS u (id)";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::string RawRows::sql(std::string_view text) const {
  std::string filled(text);
  replace_all(filled, "@raw", schema_);
  return filled;
}

Result<RawRows> RawRows::make(sql::Database& database, std::string schema,
                              const std::string& community, std::span<const Uuid> wallets) {
  RawRows rows(database, std::move(schema));
  TRY(rows.drop());
  PostgresArray ids(Element::kUuid);
  for (const Uuid& wallet : wallets) {
    ids.add(wallet);
    rows.heads_.emplace(wallet, Head{.balance = kPlenty});
  }
  std::string tables = rows.sql(kTables);
  replace_all(tables, "@like", community);
  const Result<> made = database.run_transaction([&](sql::Transaction& sql) -> Result<> {
    TRY(sql.script(tables));
    (void)TRY(sql.execute(rows.sql(kWallets), {ids.view(), kPlenty}));
    return sql.script(rows.sql("ANALYZE @raw.wallets"));
  });
  TRY(made);
  return rows;
}

Result<> RawRows::drop() {
  return drop_schema(*database_, schema_);
}

Result<> RawRows::insert_all(sql::Connection& connection, std::span<const Transfer> transfers) {
  const std::int64_t now_ms = system_clock().unix_ms();
  PostgresArray ids(Element::kUuid), senders(Element::kUuid), recipients(Element::kUuid),
      amounts(Element::kInt8);
  struct Step {
    Uuid transaction;
    std::int64_t delta;
  };
  std::map<Uuid, std::vector<Step>> steps;  // in the order of the index that they go into
  for (const Transfer& transfer : transfers) {
    ids.add(transfer.id);
    senders.add(transfer.from);
    recipients.add(transfer.to);
    amounts.add(transfer.amount);
    steps[transfer.from].push_back({transfer.id, -transfer.amount});
    steps[transfer.to].push_back({transfer.id, transfer.amount});
  }
  PostgresArray wallets(Element::kUuid), versions(Element::kInt8), entry_ids(Element::kUuid),
      deltas(Element::kInt8), balances(Element::kInt8), moved(Element::kUuid),
      last_balances(Element::kInt8);
  for (const auto& [wallet, list] : steps) {
    Head& head = heads_[wallet];
    for (const Step& step : list) {
      wallets.add(wallet);
      versions.add(++head.version);
      entry_ids.add(step.transaction);
      deltas.add(step.delta);
      balances.add(head.balance += step.delta);
    }
    moved.add(wallet);
    last_balances.add(head.balance);
  }
  sql::Transaction transaction = TRY(connection.begin());
  const std::string insert_transactions = sql(kTransactions), insert_entries = sql(kEntries),
                    update_balances = sql(kBalances), insert_outbox = sql(kOutbox),
                    insert_details = sql(kDetails);
  TRY(transaction.commit_with(
      {{insert_transactions,
        {ids.view(), senders.view(), recipients.view(), amounts.view(), now_ms}},
       {insert_entries,
        {wallets.view(), versions.view(), entry_ids.view(), deltas.view(), balances.view(),
         now_ms}},
       {update_balances, {moved.view(), last_balances.view(), now_ms}},
       {insert_outbox, {ids.view(), now_ms}},
       {insert_details, {ids.view()}}}));
  return {};
}

}  // namespace coffer::token
