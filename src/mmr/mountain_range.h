// One Merkle mountain range over a node store: appends, replaces leaves, cuts back, gives its root
// and proofs. Serves the leaf MMR, the MMR over the bitmap and logs, which differ in their tags.
// Invariant: between calls the store holds the node of every position below size(), except what
// prune() dropped, and peaks_ holds the peaks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <coffer/base/bytes.h>
#include <coffer/mmr/check.h>
#include "mmr/position.h"
#include "mmr/store.h"

namespace coffer::mmr {

// What a block that has left the window makes final.
struct Final {
  std::span<const std::uint64_t> spent;  // indexes of the leaves that it spent, each once
  std::uint64_t size_before = 0;         // of the leaf MMR before and after the block
  std::uint64_t size_after = 0;
};

// Not thread-safe. Every method may also fail as the store does when it reads. After an error of a
// method that changes something the object and the owner's uncommitted writes must be discarded.
class MountainRange {
 public:
  MountainRange(NodeStore& nodes, Tags tags, std::uint64_t leaves);

  std::uint64_t leaves() const { return leaves_; }
  std::uint64_t size() const { return size_of(leaves_); }

  // Amortised two hashes and two writes; reads nothing but, once, the peaks.
  // Errors: kTooLarge beyond kMaxLeaves.
  Result<> append(ByteView data);

  struct Change {
    std::uint64_t index = 0;
    Hash256 hash;
  };
  // What a leaf's change is made of. Thread-safe.
  Change changed_leaf(std::uint64_t leaf, ByteView data) const;
  // Replaces leaves, in ascending order, each once. Each node above them is computed once.
  Result<> replace(std::vector<Change> changes);

  // Cuts back to so many leaves, not more than there are; one drop for each node removed.
  Result<> truncate(std::uint64_t leaves);

  // See LiveSet::prune(). Reads up to two nodes per new inner node, and two per level climbed.
  Result<> prune(const Final& final);

  // Zeros without leaves. Reads nothing but, once, the peaks.
  Result<Hash256> root();
  // From left to right.
  Result<std::vector<Hash256>> peaks();
  // The hashes that lead from a leaf to the root, in the order that check.h takes them. One read
  // per level. The leaf must exist.
  Result<std::vector<Digest>> path(std::uint64_t leaf);
  // The hashes that show that this MMR begins with one of so many leaves, in the order that
  // find_consistency_fault() of check.h takes them. Not more leaves than there are; nothing below
  // size() may have been pruned. One read per level.
  Result<std::vector<Digest>> consistency_proof(std::uint64_t older_leaves);

 private:
  Hash256 node_hash(Place place, const Hash256& left, const Hash256& right) const;
  Hash256 bag(const Hash256& left, const Hash256& right) const;
  Hash256 bag_peaks_below(unsigned height) const;
  bool has_peak(unsigned height) const { return (leaves_ >> height) & 1; }
  Result<> load_peaks();
  Result<std::vector<Change>> parents_of(const std::vector<Change>& level, unsigned height);
  Result<> retire_new_parents(const Final& final);
  Result<> retire_leaf(std::uint64_t leaf, std::uint64_t size_after);

  NodeStore& nodes_;
  const Tags tags_;
  std::uint64_t leaves_;
  bool loaded_ = false;
  std::array<Hash256, kMaxPeaks> peaks_{};  // by height; only where leaves_ has that bit
};

}  // namespace coffer::mmr
