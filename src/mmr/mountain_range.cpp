// The peaks are a binary counter: a leaf is carried upwards through every height that is taken.
#include "mmr/mountain_range.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/result.h"
#include "crypto/blake2b.h"

namespace coffer::mmr {
namespace {

// H(tag ‖ number ‖ first ‖ second); all together within kMaxInput.
constexpr std::size_t kMaxInput = 1 + 8 + Chunk::kSize;
Hash256 tagged_hash(std::uint8_t tag, std::uint64_t number, ByteView first, ByteView second = {}) {
  CHECK(first.size() + second.size() <= Chunk::kSize);
  std::array<std::uint8_t, kMaxInput> input;
  input[0] = tag;
  store_be64(&input[1], number);
  std::memcpy(&input[9], first.data(), first.size());
  if (!second.empty()) std::memcpy(&input[9 + first.size()], second.data(), second.size());
  return crypto::blake2b_256({input.data(), 9 + first.size() + second.size()});
}

}  // namespace

MountainRange::MountainRange(NodeStore& nodes, Tags tags, std::uint64_t leaves)
    : nodes_(nodes), tags_(tags), leaves_(leaves) {
  CHECK(leaves <= kMaxLeaves);
}

Hash256 MountainRange::node_hash(Place place, const Hash256& left, const Hash256& right) const {
  return tagged_hash(tags_.node, position_of(place), left.view(), right.view());
}

Hash256 MountainRange::bag(const Hash256& left, const Hash256& right) const {
  return tagged_hash(tags_.bag, size(), left.view(), right.view());
}

// The peaks lower than this, of which there must be one, bagged from right to left.
Hash256 MountainRange::bag_peaks_below(unsigned height) const {
  auto lowest = static_cast<unsigned>(std::countr_zero(leaves_));
  CHECK(lowest < height);
  Hash256 bagged = peaks_[lowest];
  for (unsigned at = lowest + 1; at < height; ++at)
    if (has_peak(at)) bagged = bag(peaks_[at], bagged);
  return bagged;
}

Result<> MountainRange::load_peaks() {
  if (loaded_) return {};
  for (unsigned height = 0; height < kMaxPeaks; ++height)
    if (has_peak(height))
      peaks_[height] = TRY(nodes_.get(position_of({height, (leaves_ >> height) - 1}))).hash;
  loaded_ = true;
  return {};
}

Result<> MountainRange::append(ByteView data) {
  TRY(load_peaks());
  if (leaves_ == kMaxLeaves) return fail(Code::kTooLarge, "the MMR is full");
  Place place{0, leaves_};
  Hash256 hash = changed_leaf(leaves_, data).hash;
  nodes_.put(position_of(place), {hash});
  for (; has_peak(place.height); nodes_.put(position_of(place), {hash})) {
    const Hash256& left = peaks_[place.height];
    place = {place.height + 1, place.index >> 1};
    hash = node_hash(place, left, hash);
  }
  peaks_[place.height] = hash;
  ++leaves_;
  return {};
}

MountainRange::Change MountainRange::changed_leaf(std::uint64_t leaf, ByteView data) const {
  return {leaf, tagged_hash(tags_.leaf, leaf_position(leaf), data)};
}

Result<> MountainRange::replace(std::vector<Change> changes) {
  TRY(load_peaks());
  CHECK(changes.empty() || changes.back().index < leaves_);
  for (unsigned height = 0; !changes.empty(); ++height) {
    for (const Change& change : changes)
      nodes_.put(position_of({height, change.index}), {change.hash});
    if (is_peak({height, changes.back().index}, leaves_)) {
      peaks_[height] = changes.back().hash;
      changes.pop_back();
    }
    changes = TRY(parents_of(changes, height));
  }
  return {};
}

// The nodes above those of one level, from them and from the siblings that did not change.
Result<std::vector<MountainRange::Change>> MountainRange::parents_of(
    const std::vector<Change>& level, unsigned height) {
  std::vector<Change> parents;
  for (auto at = level.begin(); at != level.end(); ++at) {
    const bool is_left = (at->index & 1) == 0;
    const bool both = is_left && at + 1 != level.end() && (at + 1)->index == at->index + 1;
    const Hash256 sibling =
        both ? (at + 1)->hash : TRY(nodes_.get(position_of({height, at->index ^ 1}))).hash;
    const std::uint64_t index = at->index >> 1;
    const Place place{height + 1, index};
    parents.push_back({index, is_left ? node_hash(place, at->hash, sibling)
                                      : node_hash(place, sibling, at->hash)});
    if (both) ++at;
  }
  return parents;
}

Result<> MountainRange::truncate(std::uint64_t leaves) {
  CHECK(leaves <= leaves_);
  for (std::uint64_t position = size_of(leaves); position < size(); ++position)
    nodes_.drop(position);
  leaves_ = leaves;
  loaded_ = false;
  return load_peaks();
}

Result<> MountainRange::prune(const Final& final) {
  if (final.size_before > final.size_after || final.size_after > size())
    return fail(Code::kInvalidInput, "cannot prune an MMR of size {} from {} to {}", size(),
                final.size_before, final.size_after);
  // In this order: once a leaf is retired, nodes that the first step wants may be gone.
  TRY(retire_new_parents(final));
  // Sorted, neighbours are read one after the other: many times faster, in memory as on disk.
  std::vector<std::uint64_t> spent(final.spent.begin(), final.spent.end());
  std::sort(spent.begin(), spent.end());
  for (const std::uint64_t leaf : spent) TRY(retire_leaf(leaf, final.size_after));
  return {};
}

// The children of a node that could still be cut off stay, whatever became of them, because without
// it they are peaks. They are looked at again here, when it is final. In postorder, so that a
// subtree that was waiting goes as a whole.
Result<> MountainRange::retire_new_parents(const Final& final) {
  for (std::uint64_t at = final.size_before; at < final.size_after; ++at) {
    const auto children = children_of(at);
    if (!children || !TRY(nodes_.get(children->left)).gone ||
        !TRY(nodes_.get(children->right)).gone)
      continue;
    nodes_.drop(children->left);
    nodes_.drop(children->right);
    nodes_.put(at, {TRY(nodes_.get(at)).hash, true});
  }
  return {};
}

Result<> MountainRange::retire_leaf(std::uint64_t leaf, std::uint64_t size_after) {
  Place place{0, leaf};
  if (leaf >= leaves_ || position_of(place) >= size_after)
    return fail(Code::kInvalidInput, "leaf {} is not final yet", leaf);
  Node node = TRY(nodes_.get(position_of(place)));
  if (node.gone) return fail(Code::kCorrupt, "leaf {} was pruned before", leaf);
  for (;;) {
    const Place parent{place.height + 1, place.index >> 1};
    if (position_of(parent) >= size_after) break;
    const std::uint64_t sibling = position_of({place.height, place.index ^ 1});
    if (!TRY(nodes_.get(sibling)).gone) break;
    nodes_.drop(position_of(place));
    nodes_.drop(sibling);
    place = parent;
    node = TRY(nodes_.get(position_of(place)));
  }
  node.gone = true;
  nodes_.put(position_of(place), node);
  return {};
}

Result<Hash256> MountainRange::root() {
  TRY(load_peaks());
  return leaves_ == 0 ? Hash256{} : bag_peaks_below(kMaxPeaks);
}

Result<std::vector<Hash256>> MountainRange::peaks() {
  TRY(load_peaks());
  std::vector<Hash256> peaks;
  for (unsigned height = kMaxPeaks; height-- > 0;)
    if (has_peak(height)) peaks.push_back(peaks_[height]);
  return peaks;
}

Result<std::vector<Digest>> MountainRange::path(std::uint64_t leaf) {
  CHECK(leaf < leaves_);
  TRY(load_peaks());
  std::vector<Digest> path;
  Place place{0, leaf};
  for (; !is_peak(place, leaves_); place = {place.height + 1, place.index >> 1})
    path.push_back(TRY(nodes_.get(position_of({place.height, place.index ^ 1}))).hash);
  if (static_cast<unsigned>(std::countr_zero(leaves_)) < place.height)
    path.push_back(bag_peaks_below(place.height));
  for (unsigned height = place.height + 1; height < kMaxPeaks; ++height)
    if (has_peak(height)) path.push_back(peaks_[height]);
  return path;
}

Result<std::vector<Digest>> MountainRange::consistency_proof(std::uint64_t older_leaves) {
  CHECK(older_leaves <= leaves_);
  std::vector<Digest> proof;
  if (older_leaves == 0 || older_leaves == leaves_) return proof;
  TRY(load_peaks());
  if (!std::has_single_bit(older_leaves))  // else its only peak is its root
    for (const std::uint64_t position : Peaks(older_leaves).view())
      proof.push_back(TRY(nodes_.get(position)).hash);
  // Of this height there is a peak here and none in the older MMR, whose lower peaks are under it.
  const auto top = static_cast<unsigned>(std::bit_width(older_leaves ^ leaves_)) - 1;
  const auto lowest = static_cast<unsigned>(std::countr_zero(older_leaves));
  for (Place place{lowest, (older_leaves >> lowest) - 1}; place.height < top;
       place = {place.height + 1, place.index >> 1})
    if ((place.index & 1) == 0)
      proof.push_back(TRY(nodes_.get(position_of({place.height, place.index + 1}))).hash);
  const unsigned behind = lowest < top ? top : top + 1;
  if (static_cast<unsigned>(std::countr_zero(leaves_)) < behind)
    proof.push_back(bag_peaks_below(behind));
  return proof;
}

}  // namespace coffer::mmr
