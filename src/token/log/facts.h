// Entries of the log from the rows that they tell of.
#pragma once

#include <span>
#include <unordered_map>

#include "token/community.h"
#include "token/log/entry.h"

namespace coffer::token {

inline constexpr std::size_t kMaxEntriesAtOnce = 10'000;

// Columns id, kind, at, body, beginning with `column`: of log_outbox and of log_leaves. An entry of
// a transaction still lacks its facts.
Result<LogEntry> read_entry_row(const sql::Rows& rows, const Community& community, int column);

// Completes the entries that are transactions. One statement on PostgreSQL. Errors: kCorrupt if a
// transaction is missing.
Result<> add_transactions(sql::Reader& sql, const Community& community,
                          std::span<LogEntry* const> entries);

struct PlacedEntry {
  std::uint64_t position = 0;
  LogEntry entry;
};
// Entries of the log from a position on, at most `count` and kMaxEntriesAtOnce.
Result<std::vector<PlacedEntry>> read_entries(sql::Reader& sql, const Community& community,
                                              std::uint64_t from, std::size_t count);

}  // namespace coffer::token
