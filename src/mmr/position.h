// Where the nodes of a Merkle mountain range (MMR) stand: arithmetic, nothing else.
//
// Nodes are numbered in postorder from 0: a parent follows its right child at once. So an MMR only
// ever grows at its end, the number of nodes ("size") alone says which nodes there are, and cutting
// the end off gives exactly the MMR of an earlier moment.
//
//   height 2        6
//                 /   \                  leaves   0 1 2 3 4 5 6
//          1     2     5     9           stand at 0 1 3 4 7 8 10;
//               / \   / \   / \          7 leaves make 11 nodes,
//          0   0   1 3   4 7   8   10    with the peaks 6, 9 and 10
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

namespace coffer::mmr {

// No MMR has more leaves. Keeps every sum below within 64 bits.
inline constexpr std::uint64_t kMaxLeaves = std::uint64_t{1} << 62;
inline constexpr unsigned kMaxPeaks = 63;

// All functions here are pure, take a few dozen instructions and do not check their arguments:
// leaves <= kMaxLeaves, positions and sizes < 2 * kMaxLeaves.

// A node by its place in the tree: it covers the leaves [index << height, (index + 1) << height).
struct Place {
  unsigned height = 0;
  std::uint64_t index = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// How many nodes so many leaves make.
constexpr std::uint64_t size_of(std::uint64_t leaves) {
  return 2 * leaves - static_cast<std::uint64_t>(std::popcount(leaves));
}

// A leaf stands behind all nodes that the leaves before it make.
constexpr std::uint64_t leaf_position(std::uint64_t leaf) {
  return size_of(leaf);
}

// Nothing if no MMR has that size.
constexpr std::optional<std::uint64_t> leaves_in(std::uint64_t size) {
  std::uint64_t leaves = 0;
  for (auto height = static_cast<unsigned>(std::bit_width(size)); height-- > 0;) {
    const std::uint64_t tree = (std::uint64_t{2} << height) - 1;
    if (size < tree) continue;
    size -= tree;
    leaves |= std::uint64_t{1} << height;
  }
  return size == 0 ? std::optional(leaves) : std::nullopt;
}

// 0 for a leaf.
constexpr unsigned height_of(std::uint64_t position) {
  // Counted from 1, the root of a perfect tree that starts at the left end is all ones. From any
  // other node we step left, by a whole perfect tree, to the node of the same height there.
  std::uint64_t number = position + 1;
  while ((number & (number + 1)) != 0) number -= std::bit_floor(number) - 1;
  return static_cast<unsigned>(std::bit_width(number)) - 1;
}

constexpr std::uint64_t position_of(Place place) {
  // All nodes before the first leaf of this tree, then the other nodes of this tree.
  return size_of(place.index << place.height) + (std::uint64_t{2} << place.height) - 2;
}

constexpr Place place_of(std::uint64_t position) {
  const unsigned height = height_of(position);
  const std::uint64_t before = position + 2 - (std::uint64_t{2} << height);
  return {height, *leaves_in(before) >> height};
}

constexpr std::uint64_t parent_of(std::uint64_t position) {
  const Place place = place_of(position);
  return position_of({place.height + 1, place.index >> 1});
}

constexpr std::uint64_t sibling_of(std::uint64_t position) {
  const Place place = place_of(position);
  return position_of({place.height, place.index ^ 1});
}

struct Children {
  std::uint64_t left = 0;
  std::uint64_t right = 0;
};
// Nothing for a leaf.
constexpr std::optional<Children> children_of(std::uint64_t position) {
  const unsigned height = height_of(position);
  if (height == 0) return std::nullopt;
  return Children{position - (std::uint64_t{1} << height), position - 1};
}

// Whether the node is the root of one of the perfect trees that so many leaves make.
constexpr bool is_peak(Place place, std::uint64_t leaves) {
  return (leaves >> place.height) == place.index + 1 && (place.index & 1) == 0;
}

// The positions of the peaks from left to right.
class Peaks {
 public:
  constexpr explicit Peaks(std::uint64_t leaves) {
    for (unsigned height = kMaxPeaks; height-- > 0;)
      if ((leaves >> height) & 1)
        positions_[count_++] = position_of({height, (leaves >> height) - 1});
  }
  constexpr std::span<const std::uint64_t> view() const { return {positions_.data(), count_}; }

 private:
  std::array<std::uint64_t, kMaxPeaks> positions_{};
  std::size_t count_ = 0;
};

}  // namespace coffer::mmr
