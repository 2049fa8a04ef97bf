// Checkpoints: signed statements of what the log of a community is at a moment. Invariant: a
// checkpoint is true of its size for ever, because the log only grows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <coffer/mmr/check.h>
#include <coffer/token/store.h>
#include "crypto/ed25519.h"
#include "token/community.h"

namespace coffer::token {

struct Checkpoint {
  std::uint64_t size = 0;
  Hash256 root{};
  std::int64_t at_ms = 0;  // by the database's clock
  crypto::Ed25519Signature signature{};

  mmr::LogState state() const { return {size, root}; }
};

// The text that is signed. Thread-safe, as all here.
std::string signed_text(std::string_view community, const Checkpoint& checkpoint);
void sign(Checkpoint& checkpoint, std::string_view community, const crypto::Ed25519Key& key);
bool is_signed_by(const crypto::Ed25519PublicKey& key, std::string_view community,
                  const Checkpoint& checkpoint);

// Nothing if there is none (of that size).
Result<std::optional<Checkpoint>> find_newest_checkpoint(sql::Reader& sql,
                                                         const Community& community);
Result<std::optional<Checkpoint>> find_checkpoint(sql::Reader& sql, const Community& community,
                                                  std::uint64_t size);
// In ascending order: those with a size above `above`, at most `count`.
Result<std::vector<Checkpoint>> list_checkpoints(sql::Reader& sql, const Community& community,
                                                 std::uint64_t above, std::size_t count);
// In descending order: those with a size below `below`, at most `count`; below 2^63.
Result<std::vector<Checkpoint>> list_checkpoints_below(sql::Reader& sql, const Community& community,
                                                       std::uint64_t below, std::size_t count);

}  // namespace coffer::token
