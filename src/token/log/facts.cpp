#include "token/log/facts.h"

#include <algorithm>

#include "base/result.h"
#include "sql/postgres_array.h"

namespace coffer::token {
namespace {

constexpr const char* kFactsPostgres =
    "SELECT t.id, t.from_wallet_id, t.to_wallet_id, t.amount, t.transaction_type, t.created_at,"
    " d.memo_hash, d.metadata_hash FROM unnest($1::uuid[]) AS k (id)"
    " JOIN @transactions t ON t.id = k.id"
    " LEFT JOIN @transaction_details d ON d.transaction_id = k.id";
constexpr const char* kFactsSqlite =
    "SELECT t.id, t.from_wallet_id, t.to_wallet_id, t.amount, t.transaction_type, t.created_at,"
    " d.memo_hash, d.metadata_hash FROM transactions t"
    " LEFT JOIN transaction_details d ON d.transaction_id = t.id WHERE t.id = $1";

using Facts = std::unordered_map<Uuid, LoggedTransaction, HashOfHash>;

Result<> read_facts(Result<sql::Rows> answer, const Community& community, Facts& facts) {
  sql::Rows rows = TRY(std::move(answer));
  while (TRY(rows.next())) {
    LoggedTransaction& tx = facts[TRY(community.read_id(rows, 0))];
    tx.from = TRY(community.read_id(rows, 1));
    tx.to = TRY(community.read_id(rows, 2));
    tx.amount = TRY(rows.get<std::int64_t>(3));
    tx.type = TRY(rows.get<int>(4));
    tx.created_at_ms = TRY(rows.get<std::int64_t>(5));
    tx.memo_hash = TRY(rows.get<std::optional<Hash256>>(6));
    tx.metadata_hash = TRY(rows.get<std::optional<Hash256>>(7));
  }
  return {};
}

}  // namespace

Result<LogEntry> read_entry_row(const sql::Rows& rows, const Community& community, int column) {
  LogEntry entry;
  entry.id = TRY(community.read_id(rows, column));
  entry.kind = TRY(rows.get<int>(column + 1));
  entry.at_ms = TRY(rows.get<std::int64_t>(column + 2));
  if (!entry.is_transaction()) entry.event = TRY(rows.get<std::string>(column + 3));
  return entry;
}

Result<> add_transactions(sql::Reader& sql, const Community& community,
                          std::span<LogEntry* const> entries) {
  Facts facts;
  if (community.is_sqlite()) {
    for (const LogEntry* entry : entries)
      if (entry->is_transaction())
        TRY(read_facts(sql.query(kFactsSqlite, {community.id(entry->id)}), community, facts));
  } else {
    sql::PostgresArray ids(sql::PostgresArray::Element::kUuid);
    for (const LogEntry* entry : entries)
      if (entry->is_transaction()) ids.add(entry->id);
    if (ids.size() > 0)
      TRY(read_facts(sql.query(community.sql(kFactsPostgres), {ids.view()}), community, facts));
  }
  for (LogEntry* entry : entries) {
    if (!entry->is_transaction()) continue;
    const auto found = facts.find(entry->id);
    if (found == facts.end())
      return fail(Code::kCorrupt, "transaction {} is in the log of '{}' and not in its history",
                  to_string(entry->id), community.name());
    entry->transaction = found->second;
  }
  return {};
}

Result<std::vector<PlacedEntry>> read_entries(sql::Reader& sql, const Community& community,
                                              std::uint64_t from, std::size_t count) {
  std::vector<PlacedEntry> entries;
  auto rows = TRY(sql.query(community.sql("SELECT position, id, kind, at, body FROM @log_leaves"
                                          " WHERE position >= $1 ORDER BY position LIMIT $2"),
                            {from, std::min(count, kMaxEntriesAtOnce)}));
  while (TRY(rows.next())) {
    const auto position = TRY(rows.get<std::uint64_t>(0));
    entries.push_back({position, TRY(read_entry_row(rows, community, 1))});
  }
  std::vector<LogEntry*> pointers;
  pointers.reserve(entries.size());
  for (PlacedEntry& each : entries) pointers.push_back(&each.entry);
  TRY(add_transactions(sql, community, pointers));
  return entries;
}

}  // namespace coffer::token
