// Checks proofs off line, against a root that the caller trusts: that an output was unspent, that
// an entry is in a log, and that a log was only appended to. This file stands alone: C++17 and the
// standard library, so that anybody can copy it into another program. Coffer checks its own proofs
// with it. The format is described in docs/formats/mmr.md.
//
//   const bool good = coffer::mmr::check(proof, root, [](const std::uint8_t* data, std::size_t
//   size) {
//     return blake2b_256(data, size);   // returns std::array<std::uint8_t, 32>
//   });
//
// What an UnspentProof shows: under this root, the leaf at `position` is made of `outpoint` and
// `record`, and it is live. What the caller must see to: that the root is the one that somebody he
// trusts published for the block named, and that `outpoint` is the one he asked about. The block is
// not under the root. What the checks of a log show stands before each.
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
constexpr Tags kLogTags{0x20, 0x21, 0x22};
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

// The first `count` peaks bagged with what stands to the right of them, from right to left.
template <typename Hash>
Digest bag_from_right(Hash& hash, Tags tags, std::uint64_t leaves, const std::vector<Digest>& peaks,
                      std::size_t count, Digest node) {
  while (count-- > 0) node = tagged(hash, tags.bag, count_nodes(leaves), peaks[count], &node);
  return node;
}

// Reads the hashes of a proof one after the other; zeros once there are none left.
class ProofReader {
 public:
  explicit ProofReader(const std::vector<Digest>& hashes) : hashes_(hashes) {}
  Digest next() { return at_++ < hashes_.size() ? hashes_[at_ - 1] : Digest{}; }
  bool has_read_all_and_no_more() const { return at_ == hashes_.size(); }

 private:
  const std::vector<Digest>& hashes_;
  std::size_t at_ = 0;
};

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

// An append-only log of entries, each any bytes that its owner defines: an MMR whose leaf is made
// of H(entry), with tags of its own. Its size is the number of entries.

// A moment of a log: what its owner publishes or signs, and what the caller trusts.
struct LogState {
  std::uint64_t size = 0;
  Digest root{};  // zeros without entries
};
constexpr std::uint64_t kMaxLogSize = std::uint64_t{1} << 62;

// The hash of the leaf that entry `index` makes, counted from 0; index < kMaxLogSize.
template <typename Hash>
Digest log_leaf(std::uint64_t index, const std::vector<std::uint8_t>& entry, Hash&& hash) {
  using namespace check_detail;
  const Digest data = hash(entry.data(), entry.size());
  return tagged(hash, kLogTags.leaf, count_nodes(index), data);
}

// Computes the state of a log from its leaves, one after the other. Keeps a hash per peak.
class LogReplay {
 public:
  std::uint64_t size() const { return size_; }

  // Adds the leaf of entry size(), which must be below kMaxLogSize. Amortised one hash.
  template <typename Hash>
  void add(Digest leaf, Hash&& hash) {
    using namespace check_detail;
    for (unsigned height = 0; (size_ >> height & 1) != 0; ++height, peaks_.pop_back())
      leaf = tagged(hash, kLogTags.node, tree_position(height + 1, size_ >> height >> 1),
                    peaks_.back(), &leaf);
    peaks_.push_back(leaf);
    ++size_;
  }

  // At most 62 hashes.
  template <typename Hash>
  LogState state(Hash&& hash) const {
    if (size_ == 0) return {};
    return {size_, check_detail::bag_from_right(hash, kLogTags, size_, peaks_, peaks_.size() - 1,
                                                peaks_.back())};
  }

 private:
  std::uint64_t size_ = 0;
  std::vector<Digest> peaks_;  // from left to right
};

// What is wrong with a proof that `leaf` is the leaf of entry `index` of this log, or a null
// pointer. The path has the siblings up to the peak, the peaks to the right bagged into one hash,
// and the peaks to the left from right to left. About 70 hashes at most.
template <typename Hash>
const char* find_inclusion_fault(const LogState& log, std::uint64_t index, const Digest& leaf,
                                 const std::vector<Digest>& path, Hash&& hash) {
  if (log.size > kMaxLogSize) return "no log has this size";
  if (index >= log.size) return "the log has no such entry";
  Digest node = leaf;
  if (!check_detail::climb(hash, kLogTags, index, log.size, path, node))
    return "the path has a wrong length";
  return node == log.root ? nullptr : "the proof leads to another root";
}

template <typename Hash>
bool check_inclusion(const LogState& log, std::uint64_t index, const Digest& leaf,
                     const std::vector<Digest>& path, Hash&& hash) {
  return find_inclusion_fault(log, index, leaf, path, hash) == nullptr;
}

// What is wrong with a proof that the newer log begins with all of the older one, or a null
// pointer. The proof has the peaks of the older log from left to right, unless there is one only,
// which is the root; then what the newer log has to the right of them: the siblings up to the peak
// into which the lower of them have grown, if there are such, and all behind it bagged into one
// hash, if there is more. It is empty if the older log is empty or the sizes are equal.
// About 190 hashes at most.
template <typename Hash>
const char* find_consistency_fault(const LogState& older, const LogState& newer,
                                   const std::vector<Digest>& proof, Hash&& hash) {
  using namespace check_detail;
  constexpr const char* kWrongLength = "the proof has a wrong length";
  const std::uint64_t from = older.size, to = newer.size;
  if (from > to || to > kMaxLogSize) return "no log grows from one of these sizes to the other";
  if (from == 0 && older.root != Digest{}) return "the empty log has another root";
  if (from == to && older.root != newer.root) return "there are two roots for one size";
  if (from == 0 || from == to) return proof.empty() ? nullptr : kWrongLength;

  ProofReader reader(proof);
  std::vector<Digest> peaks;  // of the older log
  for (std::uint64_t rest = from; rest != 0; rest &= rest - 1)
    peaks.push_back((from & (from - 1)) == 0 ? older.root : reader.next());
  std::size_t left = peaks.size() - 1;  // so many are still to be joined with `node`
  Digest node = peaks[left];
  if (bag_from_right(hash, kLogTags, from, peaks, left, node) != older.root)
    return "the proof starts from another root";

  // At the height of the highest bit in which the sizes differ, only the newer log has a peak. It
  // stands over all the lower peaks of the older log. The higher ones are peaks of the newer, too.
  unsigned height = 0, top = 63;
  while ((from >> height & 1) == 0) ++height;
  while ((from >> top) == (to >> top)) --top;
  if (height < top) {
    for (std::uint64_t index = (from >> height) - 1; height < top; ++height, index >>= 1) {
      const std::uint64_t parent = tree_position(height + 1, index >> 1);
      const bool is_right = (index & 1) != 0;
      const Digest sibling = is_right ? peaks[--left] : reader.next();
      node = is_right ? tagged(hash, kLogTags.node, parent, sibling, &node)
                      : tagged(hash, kLogTags.node, parent, node, &sibling);
    }
    if ((to & ((std::uint64_t{1} << top) - 1)) != 0) {
      const Digest behind = reader.next();
      node = tagged(hash, kLogTags.bag, count_nodes(to), node, &behind);
    }
  } else {
    node = reader.next();
    ++left;
  }
  node = bag_from_right(hash, kLogTags, to, peaks, left, node);
  if (!reader.has_read_all_and_no_more()) return kWrongLength;
  return node == newer.root ? nullptr : "the proof leads to another root";
}

template <typename Hash>
bool check_consistency(const LogState& older, const LogState& newer,
                       const std::vector<Digest>& proof, Hash&& hash) {
  return find_consistency_fault(older, newer, proof, hash) == nullptr;
}

}  // namespace coffer::mmr
