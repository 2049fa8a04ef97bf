// Blocks by header, added in any order, and the best chain among them.
// Invariants: the best chain starts at the chain's first block (or at a block that the reader has,
// the anchor) and each of its blocks follows the one before; it is the heaviest of what is
// connected: most work on Bitcoin, highest block number on Cardano, the first added among equals.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>

#include <coffer/chain/network.h>
#include "feed/block_index_work.h"

namespace coffer::feed {

// Where a block's bytes are.
struct BlockPlace {
  std::uint32_t file = 0;
  std::uint32_t size = 0;    // of the block itself, however it is written
  std::uint64_t offset = 0;  // of its first byte or hex digit
  friend bool operator==(const BlockPlace&, const BlockPlace&) = default;
};

struct IndexedBlock {
  Hash256 hash{}, prev{};
  BlockPlace place{};
  std::uint64_t number = 0;      // Bitcoin: set when it is connected
  std::uint64_t slot = 0;        // likewise
  Work weight{};                 // its own, as from read_header(); its chain's once connected
  std::uint32_t parent = ~0u;    // an entry; ~0 when it is the first of its chain
  std::uint32_t position = ~0u;  // on its chain, from 0; ~0 while its predecessor is missing
};

// What a header tells; `raw` needs only its header on Bitcoin, all of the block on Cardano.
// Thread-safe. Errors: kInvalidInput.
Result<IndexedBlock> read_header(const chain::Network& network, ByteView raw);

// Not thread-safe. About 200 bytes a block.
class BlockIndex {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNoBlock = ~0u;

  explicit BlockIndex(const chain::Network& network) : network_(network) {}

  // A block that is known already is left as it is. Cost: constant, and what it connects.
  // Errors: kTooLarge beyond 2^32 - 2 blocks.
  Result<> add(IndexedBlock block);
  // The reader has this block. If nothing is connected yet and its successor waits here, it is
  // taken as the first one; if it waits here itself, the one before its first predecessor here is:
  // the reader has that as well. Cost: a look-up for each of these predecessors.
  bool anchor(const chain::Point& point);
  // The block's bytes are there from now on.
  void move(Id id, const BlockPlace& place) { blocks_[id].place = place; }
  // As if these had never been added. Their entries stay readable under their ids, as those of
  // blocks that are on no chain. Cost: all blocks once.
  void forget(std::span<const Id> ids);

  std::size_t size() const { return blocks_.size(); }
  const IndexedBlock& operator[](Id id) const { return blocks_[id]; }
  // The best chain, first block (or anchor) first.
  const std::vector<Id>& best() const { return best_; }
  bool on_best(Id id) const {
    const std::uint32_t at = blocks_[id].position;
    return at < best_.size() && best_[at] == id;
  }
  // The block with this hash, connected or not.
  std::optional<Id> find(const Hash256& hash) const;
  // The entry that stands for the same block now: another if it was forgotten and added again.
  Id current(Id id) const { return find(blocks_[id].hash).value_or(id); }
  // The blocks whose bytes are in this file, by offset. Cost: all blocks once.
  std::vector<Id> in_file(std::uint32_t file) const;
  // The newest block on the best chain among the block with this hash and its predecessors.
  std::optional<Id> find_fork(const Hash256& hash) const;
  // The block with this hash if it is on the best chain.
  std::optional<Id> find_on_best(const Hash256& hash) const;
  chain::Point point(Id id) const;
  // Whether some block waits for this one.
  bool awaits(const Hash256& hash) const { return waiting_.contains(hash); }
  // A block, the first added, whose predecessor is missing.
  std::optional<Id> first_waiting() const;

 private:
  bool is_first(Id id) const;
  void add_to_chain(Id id);
  void connect(Id id, Id parent);
  void connect_with_successors(Id id, Id parent);
  void take_as_tip(Id id);

  const chain::Network network_;
  std::vector<IndexedBlock> blocks_;
  std::unordered_map<Hash256, Id, HashOfHash> by_hash_;
  std::unordered_multimap<Hash256, Id, HashOfHash> waiting_;  // by the predecessor that is missing
  std::vector<Id> best_;
  Id anchor_ = kNoBlock;
};

}  // namespace coffer::feed
