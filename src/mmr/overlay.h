// Stores that keep writes in memory over a store that is only read. Two uses: the writes of a batch
// before it is committed, and a throw-away view of an earlier moment (rewind it, prove, forget it).
// Invariant: the store below is never written; a read sees every write made here. Not thread-safe.
// Memory grows with the number of different keys written; the owner commits or forgets in time.
#pragma once

#include <optional>
#include <unordered_map>

#include "base/result.h"
#include "mmr/store.h"

namespace coffer::mmr {

// Key to new value; nothing means dropped.
template <typename Value>
using Changes = std::unordered_map<std::uint64_t, std::optional<Value>>;

class NodeOverlay final : public NodeStore {
 public:
  explicit NodeOverlay(NodeStore& below) : below_(below) {}

  Result<Node> get(std::uint64_t position) override {
    const auto found = changes_.find(position);
    if (found == changes_.end()) return below_.get(position);
    if (!found->second) return fail(Code::kCorrupt, "no MMR node {}", position);
    return *found->second;
  }
  void put(std::uint64_t position, const Node& node) override { changes_[position] = node; }
  void drop(std::uint64_t position) override { changes_[position] = std::nullopt; }

  // What was written since the last clear(), in no order.
  const Changes<Node>& changes() const { return changes_; }
  void clear() { changes_.clear(); }

 private:
  NodeStore& below_;
  Changes<Node> changes_;
};

class ChunkOverlay final : public ChunkStore {
 public:
  explicit ChunkOverlay(ChunkStore& below) : below_(below) {}

  Result<Chunk> get(std::uint64_t index) override {
    const auto found = changes_.find(index);
    if (found == changes_.end()) return below_.get(index);
    return found->second.value_or(Chunk{});
  }
  void put(std::uint64_t index, const Chunk& chunk) override { changes_[index] = chunk; }
  void drop(std::uint64_t index) override { changes_[index] = std::nullopt; }

  const Changes<Chunk>& changes() const { return changes_; }
  void clear() { changes_.clear(); }

 private:
  ChunkStore& below_;
  Changes<Chunk> changes_;
};

}  // namespace coffer::mmr
