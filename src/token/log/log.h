// What can be asked of the tamper-evident log of a community (T12): how far it is, its checkpoints
// and entries, and proofs against checkpoints. docs/formats/token_log.md describes what is proved.
#pragma once

#include "token/details.h"
#include "token/log/checkpoint.h"
#include "token/log/facts.h"

namespace coffer::token {

// Unlogged for longer than this while a process runs, something is wrong (T12).
inline constexpr std::int64_t kMaxLogDelayMs = 5'000;

struct LogStatus {
  std::uint64_t size = 0;
  Hash256 root{};
  std::uint64_t unlogged = 0;                         // committed and not in the log yet
  std::optional<std::int64_t> oldest_unlogged_at_ms;  // by the database's clock, as is now_ms
  std::int64_t now_ms = 0;
  std::optional<Checkpoint> checkpoint;  // the newest
  std::optional<crypto::Ed25519PublicKey> public_key;

  std::int64_t delay_ms() const { return now_ms - oldest_unlogged_at_ms.value_or(now_ms); }
  bool is_late() const { return delay_ms() > kMaxLogDelayMs; }
};

// A text that an entry has as a salted hash.
struct DetailProof {
  std::string text;
  DetailSalt salt{};
};

// That an entry is in the log of a checkpoint.
struct InclusionProof {
  std::string community;
  std::uint64_t position = 0;  // of the entry, from 0
  std::string entry;           // its text
  std::vector<mmr::Digest> path;
  Checkpoint checkpoint;
  crypto::Ed25519PublicKey public_key{};
  std::optional<DetailProof> memo, metadata;  // unless there is none, or it was erased
};

// That the log of one checkpoint begins with the log of an older one.
struct ConsistencyProof {
  std::string community;
  Checkpoint older, newer;
  std::vector<mmr::Digest> hashes;
  crypto::Ed25519PublicKey public_key{};
};

// Thread-safe. Every method reads one moment of the database, and may fail as sql::Reader does.
class Log {
 public:
  // The community must outlive it.
  explicit Log(const Community& community) : community_(community) {}

  // Counts the outbox, which is short while a sequencer runs.
  Result<LogStatus> status() const;

  // Newest first; the cursor is the size of the last one.
  Result<Page<Checkpoint>> checkpoints(const PageOptions& page = {}) const;
  // Of a size, or the newest. Errors: kNotFound.
  Result<Checkpoint> checkpoint(std::optional<std::uint64_t> size = {}) const;

  // From a position on, at most kMaxPage: what happened, in the order of the log.
  Result<std::vector<PlacedEntry>> entries(std::uint64_t from, std::size_t count) const;

  // That a transaction, or a wallet event, is in the log of a checkpoint: of that size, or the
  // newest. Errors: kNotFound (transaction_not_found); kConflict (not_logged_yet); kCorrupt if the
  // row is not what was logged.
  Result<InclusionProof> prove(const Uuid& id, std::optional<std::uint64_t> size = {}) const;
  // Between two checkpoints, the newer one by default the newest. Errors: kNotFound; kInvalidInput
  // if the older one is larger.
  Result<ConsistencyProof> prove_consistency(std::uint64_t older_size,
                                             std::optional<std::uint64_t> newer_size = {}) const;

 private:
  const Community& community_;
};

}  // namespace coffer::token
