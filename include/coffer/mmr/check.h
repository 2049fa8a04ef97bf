// Checks a proof that an output was unspent, off line, against a root that the caller trusts.
// This file stands alone: C++17 and the standard library, so that anybody can copy it into another
// program. Coffer checks its own proofs with it. The format is described in docs/formats/mmr.md.
//
//   const bool good = coffer::mmr::check(proof, root, [](const std::uint8_t* data, std::size_t
//   size) {
//     return blake2b_256(data, size);   // returns std::array<std::uint8_t, 32>
//   });
//
// What it shows: under this root, the leaf at `position` is made of `outpoint` and `record`, and it
// is live. What the caller must see to: that the root is the one that somebody he trusts published
// for the block named, and that `outpoint` is the one he asked about. The block is not under the
// root.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace coffer::mmr {

using Digest = std::array<std::uint8_t, 32>;

struct UnspentProof {
  std::uint64_t block_number = 0;  // the block after which this was so
  Digest block_hash{};
  std::uint64_t size = 0;              // nodes of the leaf MMR
  std::uint64_t position = 0;          // of the leaf among them
  std::vector<std::uint8_t> outpoint;  // transaction id, then the index: 2 or 4 bytes big-endian
  std::vector<std::uint8_t> record;    // canonical CBOR of the output's chain facts
  std::vector<Digest> leaf_path;
  std::array<std::uint8_t, 128> chunk{};  // 1024 bits of the bitmap, the leaf's among them
  std::vector<Digest> chunk_path;
};

// First bytes of what is hashed: they keep leaves, nodes and roots apart.
struct Tags {
  std::uint8_t leaf, node, bag;
};
constexpr Tags kLeafTags{0x00, 0x01, 0x02};
constexpr Tags kBitmapTags{0x10, 0x11, 0x12};
constexpr std::uint8_t kRootTag = 0x03;

// Outpoints have 34 bytes on Cardano and 36 on Bitcoin. Records are smaller than a block.
constexpr std::size_t kOutpointBytesCardano = 34;
constexpr std::size_t kOutpointBytesBitcoin = 36;
constexpr std::size_t kMaxRecordBytes = std::size_t{8} << 20;
constexpr std::uint64_t kMaxProofSize = std::uint64_t{1} << 63;

namespace check_detail {

// The number of leaves of an MMR of `size` nodes; false if there is none.
inline bool count_leaves(std::uint64_t size, std::uint64_t& leaves) {
  leaves = 0;
  for (unsigned height = 63; height-- > 0;) {
    const std::uint64_t tree = (std::uint64_t{2} << height) - 1;
    if (size < tree) continue;
    size -= tree;
    leaves |= std::uint64_t{1} << height;
  }
  return size == 0;
}

inline std::uint64_t count_nodes(std::uint64_t leaves) {
  std::uint64_t nodes = 0;
  for (; leaves != 0; leaves >>= 1) nodes += leaves;  // on each level half as many, rounded down
  return nodes;
}

// The position of the root of the perfect tree over leaves [index << height, (index + 1) <<
// height).
inline std::uint64_t tree_position(unsigned height, std::uint64_t index) {
  return count_nodes(index << height) + (std::uint64_t{2} << height) - 2;
}

// H(tag ‖ number ‖ first ‖ second)
template <typename Hash, typename First>
Digest tagged(Hash& hash, std::uint8_t tag, std::uint64_t number, const First& first,
              const Digest* second = nullptr) {
  std::vector<std::uint8_t> input{tag};
  for (unsigned shift = 64; shift != 0; shift -= 8)
    input.push_back(static_cast<std::uint8_t>(number >> (shift - 8)));
  input.insert(input.end(), first.begin(), first.end());
  if (second != nullptr) input.insert(input.end(), second->begin(), second->end());
  return hash(input.data(), input.size());
}

// Climbs from leaf `index` of `leaves` to the root: siblings up to the peak, then the peaks to the
// right bagged into one hash, if there are any, then the peaks to the left from right to left.
// False unless the path has exactly as many hashes as that takes. `node` is the leaf's hash and
// becomes the root.
template <typename Hash>
bool climb(Hash& hash, Tags tags, std::uint64_t index, std::uint64_t leaves,
           const std::vector<Digest>& path, Digest& node) {
  auto next = path.begin();
  unsigned height = 0;
  // A peak is a left child, or the root of all, with no room for its sibling.
  for (; (leaves >> height) != index + 1 || (index & 1) != 0; ++height, index >>= 1) {
    if (next == path.end()) return false;
    const Digest& sibling = *next++;
    const std::uint64_t parent = tree_position(height + 1, index >> 1);
    node = (index & 1) != 0 ? tagged(hash, tags.node, parent, sibling, &node)
                            : tagged(hash, tags.node, parent, node, &sibling);
  }
  const std::uint64_t size = count_nodes(leaves);
  if ((leaves & ((std::uint64_t{1} << height) - 1)) != 0) {
    if (next == path.end()) return false;
    node = tagged(hash, tags.bag, size, node, &*next++);
  }
  for (std::uint64_t left = leaves >> height >> 1; left != 0; left &= left - 1) {
    if (next == path.end()) return false;
    node = tagged(hash, tags.bag, size, *next++, &node);
  }
  return next == path.end();
}

}  // namespace check_detail

// What is wrong with the proof, in a few words that do not go away, or a null pointer if nothing
// is. `hash(const std::uint8_t* data, std::size_t size)` returns the Blake2b-256 as a Digest (or
// what converts to one). As thread-safe as `hash`; costs the hash of the record and about 150
// hashes of up to 137 bytes at the very most.
template <typename Hash>
const char* find_fault(const UnspentProof& proof, const Digest& root, Hash&& hash) {
  using namespace check_detail;
  if (proof.outpoint.size() != kOutpointBytesCardano &&
      proof.outpoint.size() != kOutpointBytesBitcoin)
    return "the outpoint has a wrong length";
  if (proof.record.size() > kMaxRecordBytes) return "the record is too large";
  std::uint64_t leaves = 0;
  if (proof.size >= kMaxProofSize || !count_leaves(proof.size, leaves))
    return "no MMR has this size";
  // A leaf stands behind all the nodes that the leaves before it make: its position is their size.
  std::uint64_t leaf = 0;
  if (proof.position >= proof.size || !count_leaves(proof.position, leaf))
    return "the position is not that of a leaf";
  if ((proof.chunk[leaf / 8 % proof.chunk.size()] >> (leaf % 8) & 1) == 0)
    return "the output is spent: its bit is not set";

  std::vector<std::uint8_t> data = proof.outpoint;
  data.insert(data.end(), proof.record.begin(), proof.record.end());
  const Digest digest = hash(data.data(), data.size());
  Digest leaf_root = tagged(hash, kLeafTags.leaf, proof.position, digest);
  if (!climb(hash, kLeafTags, leaf, leaves, proof.leaf_path, leaf_root))
    return "the leaf's path has a wrong length";

  const std::uint64_t bits = proof.chunk.size() * 8;
  const std::uint64_t chunks = leaves / bits + (leaves % bits != 0 ? 1 : 0);
  const std::uint64_t chunk = leaf / bits;
  Digest bitmap_root = tagged(hash, kBitmapTags.leaf, count_nodes(chunk), proof.chunk);
  if (!climb(hash, kBitmapTags, chunk, chunks, proof.chunk_path, bitmap_root))
    return "the chunk's path has a wrong length";

  if (tagged(hash, kRootTag, proof.size, leaf_root, &bitmap_root) != root)
    return "the proof leads to another root";
  return nullptr;
}

template <typename Hash>
bool check(const UnspentProof& proof, const Digest& root, Hash&& hash) {
  return find_fault(proof, root, hash) == nullptr;
}

}  // namespace coffer::mmr
