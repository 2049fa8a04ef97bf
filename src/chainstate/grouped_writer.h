// Commits for a consumer that keeps its position beside its data, grouped as bus::CommitPolicy says
// (E2). Invariant: data and position are always in the same batch.
#pragma once

#include <functional>

#include <coffer/bus/consumer.h>
#include "bus/commit_policy.h"
#include "chainstate/header_codec.h"

namespace coffer::chainstate {

// One writer; position() is thread-safe.
class GroupedWriter {
 public:
  // The position is stored in `meta` under `key`.
  static Result<std::unique_ptr<GroupedWriter>> open(kv::Database& db, std::string_view key);

  bus::Position position() const;

  // `change` adds the block's own records to the batch it is given. If the commit fails, the
  // position is what it was and the change must be made again from what is stored.
  Result<> apply(const bus::BlockApplied& block, const std::function<void(kv::Batch&)>& change);
  // Commits at once, what was held back first.
  Result<> move_to(const bus::Position& to, const std::function<void(kv::Batch&)>& change);
  Result<> flush();
  // The position after the last commit.
  bus::Position committed() const;

 private:
  GroupedWriter(kv::Database& db, std::string_view key) : db_(db), key_(key) {}
  Result<> commit(const bus::Position& to);

  kv::Database& db_;
  const std::string key_;
  kv::Column meta_;
  kv::Batch batch_;
  const bus::CommitPolicy policy_{{.blocks = 512, .bytes = 8u << 20}};
  bus::HeldBlocks held_;
  mutable std::mutex mutex_;  // guards both positions
  bus::Position position_, committed_;
};

}  // namespace coffer::chainstate
