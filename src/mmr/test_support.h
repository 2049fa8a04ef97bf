// For the tests of src/mmr: stores in memory, and the same roots computed from scratch by the
// shortest code that follows docs/formats/mmr.md, without a word of the code under test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <coffer/base/bytes.h>
#include "base/result.h"
#include "crypto/blake2b.h"
#include "mmr/live_set.h"
#include "mmr/store.h"

namespace coffer::mmr {

class MemoryNodes final : public NodeStore {
 public:
  Result<Node> get(std::uint64_t position) override {
    ++reads;
    const auto found = nodes.find(position);
    if (found == nodes.end()) return fail(Code::kCorrupt, "no MMR node {}", position);
    return found->second;
  }
  void put(std::uint64_t position, const Node& node) override {
    ++writes;
    nodes[position] = node;
  }
  void drop(std::uint64_t position) override { nodes.erase(position); }

  std::map<std::uint64_t, Node> nodes;
  std::uint64_t reads = 0, writes = 0;
};

class MemoryChunks final : public ChunkStore {
 public:
  Result<Chunk> get(std::uint64_t index) override {
    ++reads;
    const auto found = chunks.find(index);
    return found == chunks.end() ? Chunk{} : found->second;
  }
  void put(std::uint64_t index, const Chunk& chunk) override { chunks[index] = chunk; }
  void drop(std::uint64_t index) override { chunks.erase(index); }

  std::map<std::uint64_t, Chunk> chunks;
  std::uint64_t reads = 0;
};

struct MemoryStores {
  MemoryNodes leaf_nodes, bitmap_nodes;
  MemoryChunks chunks;
  LiveSet::Stores refs() { return {leaf_nodes, bitmap_nodes, chunks}; }
};

inline const auto kHash = [](const std::uint8_t* data, std::size_t size) -> Digest {
  return crypto::blake2b_256({data, size});
};

// What the naive tree knows of a node.
struct NaiveNode {
  Hash256 hash;
  unsigned height = 0;
  std::uint64_t position = 0;
  std::uint64_t parent = ~std::uint64_t{0};
  std::uint64_t left = 0, right = 0;
};

struct NaiveRange {
  std::vector<NaiveNode> nodes;      // in postorder
  std::vector<std::uint64_t> peaks;  // from left to right
  Hash256 root{};
};

inline Hash256 naive_hash(unsigned tag, std::uint64_t number, ByteView a, ByteView b = {}) {
  Bytes input{static_cast<std::uint8_t>(tag)};
  append_be64(input, number);
  append(input, a);
  append(input, b);
  return crypto::blake2b_256(input);
}

// Builds the tree over items [from, to) by recursion; a power of two of them. Returns its root.
inline std::uint64_t naive_tree(NaiveRange& range, const std::vector<Bytes>& items, unsigned tag,
                                std::uint64_t from, std::uint64_t to) {
  NaiveNode node;
  if (to - from > 1) {
    node.left = naive_tree(range, items, tag, from, (from + to) / 2);
    node.right = naive_tree(range, items, tag, (from + to) / 2, to);
    node.height = range.nodes[node.left].height + 1;
  }
  node.position = range.nodes.size();
  if (to - from == 1) {
    node.hash = naive_hash(tag, node.position, items[from]);
  } else {
    range.nodes[node.left].parent = range.nodes[node.right].parent = node.position;
    node.hash = naive_hash(tag + 1, node.position, range.nodes[node.left].hash.view(),
                           range.nodes[node.right].hash.view());
  }
  range.nodes.push_back(node);
  return node.position;
}

inline NaiveRange naive_range(const std::vector<Bytes>& items, unsigned tag) {
  NaiveRange range;
  for (std::uint64_t from = 0; from < items.size();) {
    std::uint64_t width = 1;
    while (from + 2 * width <= items.size()) width *= 2;
    range.peaks.push_back(naive_tree(range, items, tag, from, from + width));
    from += width;
  }
  for (std::size_t i = range.peaks.size(); i-- > 0;) {
    const Hash256& peak = range.nodes[range.peaks[i]].hash;
    range.root = i + 1 == range.peaks.size()
                     ? peak
                     : naive_hash(tag + 2, range.nodes.size(), peak.view(), range.root.view());
  }
  return range;
}

// All leaves and all bits, and nothing clever.
struct NaiveSet {
  std::vector<Hash256> data;
  std::vector<bool> live;

  Hash256 root() const {
    std::vector<Bytes> leaves;
    leaves.reserve(data.size());
    for (const Hash256& hash : data) leaves.emplace_back(hash.begin(), hash.end());
    std::vector<Bytes> chunks((data.size() + 1023) / 1024, Bytes(128));
    for (std::size_t i = 0; i < live.size(); ++i)
      if (live[i]) chunks[i / 1024][i % 1024 / 8] |= static_cast<std::uint8_t>(1u << i % 8);
    const NaiveRange range = naive_range(leaves, 0x00), bitmap = naive_range(chunks, 0x10);
    return naive_hash(0x03, range.nodes.size(), range.root.view(), bitmap.root.view());
  }
};

// An output of a test: its bytes follow from its number.
struct Output {
  Bytes outpoint, record;
  explicit Output(std::uint64_t number, std::uint64_t branch = 0) {
    outpoint.assign(26, static_cast<std::uint8_t>(branch));
    append_be64(outpoint, number);
    record.assign(1 + number % 70, static_cast<std::uint8_t>(number));
  }
  Hash256 data() const {
    Bytes all = outpoint;
    append(all, record);
    return crypto::blake2b_256(all);
  }
  UnspentProof complete(UnspentProof proof) const {
    proof.block_number = 7;
    proof.outpoint = outpoint;
    proof.record = record;
    return proof;
  }
};

// Empty, or what went wrong.
template <typename T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

}  // namespace coffer::mmr
