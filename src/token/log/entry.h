// An entry of the tamper-evident log (T12): one line of JSON with sorted keys and no blanks, whose
// bytes the leaf is made of. docs/formats/token_log.md describes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <coffer/mmr/check.h>
#include <coffer/token/types.h>

namespace coffer::token {

inline constexpr int kTransactionKind = 1;  // of a leaf; 2 to 13 are wallet_events
inline constexpr int kMaxKind = 13;
inline constexpr std::size_t kMaxEntryBytes = 32 << 10;

// The facts of a row of `transactions`. Memo and metadata are there as salted hashes only.
struct LoggedTransaction {
  Uuid from{}, to{};
  std::int64_t amount = 0;
  int type = 1;
  std::int64_t created_at_ms = 0;
  std::optional<Hash256> memo_hash, metadata_hash;
};

struct LogEntry {
  Uuid id{};
  int kind = kTransactionKind;
  std::int64_t at_ms = 0;         // when it was booked, by the database's clock
  LoggedTransaction transaction;  // of kind 1
  std::string event;              // of another kind: its facts as JSON, as log_outbox.body has them

  bool is_transaction() const { return kind == kTransactionKind; }
};

// All are thread-safe.
std::string to_text(const LogEntry& entry);
// Errors: kInvalidInput for what to_text() does not write, to the byte.
Result<LogEntry> parse_log_entry(std::string_view text);

// Blake2b-256 as mmr/check.h wants it.
mmr::Digest hash_bytes(const std::uint8_t* data, std::size_t size);
// The hash of the leaf that an entry makes at `position`, counted from 0.
Hash256 leaf_hash(std::uint64_t position, std::string_view entry);

}  // namespace coffer::token
