// What an accumulator needs from whoever keeps its data. Storage-free: the owner decides where
// nodes and chunks lie and when they are committed.
// Invariant that the owner guarantees: a read sees every earlier write, whether it is committed yet
// or not. An owner that collects writes in a batch puts the overlays of mmr/overlay.h before it.
#pragma once

#include <cstdint>

#include <coffer/base/bytes.h>

namespace coffer::mmr {

struct Node {
  Hash256 hash{};
  bool gone = false;  // all leaves below were spent longer ago than the window
  friend bool operator==(const Node&, const Node&) = default;
};

class NodeStore {
 public:
  virtual ~NodeStore() = default;
  // Errors: kCorrupt if there is no such node; whatever reading may fail with.
  virtual Result<Node> get(std::uint64_t position) = 0;
  virtual void put(std::uint64_t position, const Node& node) = 0;
  // Dropping what is not there is no error.
  virtual void drop(std::uint64_t position) = 0;
};

// 1024 bits, one per leaf, least significant bit first: leaf n is bit n % 8 of byte n / 8 % 128.
using Chunk = FixedBytes<128, struct ChunkTag>;
inline constexpr std::uint64_t kLeavesPerChunk = Chunk::kSize * 8;

class ChunkStore {
 public:
  virtual ~ChunkStore() = default;
  // A chunk that was never put or was dropped is all zeros, and no error.
  virtual Result<Chunk> get(std::uint64_t index) = 0;
  virtual void put(std::uint64_t index, const Chunk& chunk) = 0;
  virtual void drop(std::uint64_t index) = 0;
};

}  // namespace coffer::mmr
