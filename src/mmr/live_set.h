// A set of outputs that can prove what is in it: an MMR over all leaves ever appended, and a second
// MMR over the bitmap of those that are live, in chunks of 1024 bits. Spending clears a bit; so the
// root over both says which outputs exist and which are unspent. See docs/formats/mmr.md.
// Invariant: the root depends on the leaves and the bits alone, not on how they came about, on when
// flush_chunks() ran or on what was pruned.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <coffer/mmr/check.h>
#include "mmr/mountain_range.h"
#include "mmr/store.h"

namespace coffer::mmr {

// Not thread-safe. Every method may also fail as the stores do when they read. After an error from
// a method that changes something, or when the owner gives up a batch, this object and the
// uncommitted writes must be discarded together; a new one is cheap.
//
// Writes reach the stores at once, except changed chunks and the MMR over them: those wait for
// flush_chunks(). The owner calls flush_chunks() or root() before each commit, and commits leaves()
// with it.
class LiveSet {
 public:
  // Chunks kept in memory, about 12 MB. When so many are in use, flush_chunks() runs by itself.
  static constexpr std::size_t kMaxCachedChunks = std::size_t{1} << 16;

  struct Stores {
    NodeStore& leaf_nodes;
    NodeStore& bitmap_nodes;
    ChunkStore& chunks;
  };
  // `leaves` is what leaves() gave when the stores were committed. Reads nothing yet.
  LiveSet(Stores stores, std::uint64_t leaves, std::size_t max_cached_chunks = kMaxCachedChunks);

  std::uint64_t leaves() const { return range_.leaves(); }
  // Nodes of the leaf MMR.
  std::uint64_t size() const { return range_.size(); }

  // Adds a live leaf and returns its index. Amortised two hashes and two writes, no reads.
  // Errors: kTooLarge beyond kMaxLeaves.
  Result<std::uint64_t> append(const Hash256& data);

  // Clears or sets the leaf's bit. At most one read. Errors: kCorrupt if there is no such leaf, or
  // if it was spent (or live) already. Only leaves that prune() was not told of may be unspent.
  Result<> spend(std::uint64_t leaf);
  Result<> unspend(std::uint64_t leaf);

  // Cuts back to so many leaves. The bits of those that remain are not touched: the caller unspends
  // what was spent since, before or after. Never below a size_after given to prune().
  // Cost: one drop per node removed. Errors: kInvalidInput if there are fewer leaves.
  Result<> rewind(std::uint64_t leaves);

  // Errors: kNotFound if there is no such leaf. At most one read.
  Result<bool> live(std::uint64_t leaf);

  // Writes the chunks that changed and computes each node above them once.
  // Cost: changed chunks times the height of the MMR over chunks at most, in hashes and in reads.
  Result<> flush_chunks();

  // Calls flush_chunks() first.
  Result<Hash256> root();
  // Of the leaf MMR, from left to right.
  Result<std::vector<Hash256>> peaks();
  // Calls flush_chunks() first. The block, the outpoint and the record are left for the caller to
  // fill in. One read per level of either MMR. Errors: kNotFound if the leaf is not live.
  Result<UnspentProof> prove(std::uint64_t leaf);

  // A block, or several in one go, has left the window: its leaves can no longer be cut off nor its
  // spends undone. Wherever all leaves of a subtree are spent for good, only its root is kept. Once
  // for each block, in their order. Proofs, roots and rewinds within the window stay as they were.
  // Errors: kInvalidInput if a size or a leaf is not within the MMR; kCorrupt if a leaf is live or
  // was pruned before.
  Result<> prune(const Final& final);

 private:
  struct CachedChunk {
    Chunk bits{};
    bool dirty = false;
  };
  enum class Bit : bool { kClear, kSet };

  Result<CachedChunk*> chunk_of(std::uint64_t leaf);
  Result<> make_room();
  void mark_dirty(std::uint64_t leaf, CachedChunk& chunk);
  Result<> flip(std::uint64_t leaf, Bit to);

  MountainRange range_;
  MountainRange bitmap_;  // as of the last flush_chunks(), but never longer than the chunks in use
  ChunkStore& chunks_;
  const std::size_t max_cached_chunks_;
  std::unordered_map<std::uint64_t, CachedChunk> cache_;
  std::vector<std::uint64_t> dirty_;  // indexes of the dirty chunks in the cache, each once
};

}  // namespace coffer::mmr
