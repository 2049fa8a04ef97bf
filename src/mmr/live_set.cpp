#include "mmr/live_set.h"

#include <algorithm>

#include "base/check.h"
#include "base/result.h"
#include "crypto/blake2b.h"

namespace coffer::mmr {
namespace {

std::uint64_t chunks_for(std::uint64_t leaves) {
  return (leaves + kLeavesPerChunk - 1) / kLeavesPerChunk;
}
std::uint8_t& byte_of(Chunk& chunk, std::uint64_t leaf) {
  return chunk[leaf / 8 % Chunk::kSize];
}
std::uint8_t mask_of(std::uint64_t leaf) {
  return static_cast<std::uint8_t>(1u << (leaf % 8));
}
bool is_set(Chunk& chunk, std::uint64_t leaf) {
  return (byte_of(chunk, leaf) & mask_of(leaf)) != 0;
}

// Clears the bit of this leaf and all behind it.
void clear_from(Chunk& chunk, std::uint64_t leaf) {
  std::uint8_t& first = byte_of(chunk, leaf);
  first = static_cast<std::uint8_t>(first & (mask_of(leaf) - 1));
  std::fill(&first + 1, chunk.data() + chunk.size(), std::uint8_t{0});
}

}  // namespace

LiveSet::LiveSet(Stores stores, std::uint64_t leaves, std::size_t max_cached_chunks)
    : range_(stores.leaf_nodes, kLeafTags, leaves),
      bitmap_(stores.bitmap_nodes, kBitmapTags, chunks_for(leaves)),
      chunks_(stores.chunks),
      max_cached_chunks_(max_cached_chunks) {
  CHECK(max_cached_chunks > 0);
}

Result<> LiveSet::make_room() {
  if (cache_.size() < max_cached_chunks_) return {};
  TRY(flush_chunks());
  cache_.clear();
  return {};
}

// The pointer is good until the next call of this function or of rewind().
Result<LiveSet::CachedChunk*> LiveSet::chunk_of(std::uint64_t leaf) {
  const std::uint64_t index = leaf / kLeavesPerChunk;
  if (const auto found = cache_.find(index); found != cache_.end()) return &found->second;
  TRY(make_room());
  CachedChunk chunk;
  // A chunk that the next append begins was never written.
  if (leaf < leaves() || leaf % kLeavesPerChunk != 0) chunk.bits = TRY(chunks_.get(index));
  return &cache_.emplace(index, chunk).first->second;
}

void LiveSet::mark_dirty(std::uint64_t leaf, CachedChunk& chunk) {
  if (chunk.dirty) return;
  chunk.dirty = true;
  dirty_.push_back(leaf / kLeavesPerChunk);
}

Result<std::uint64_t> LiveSet::append(const Hash256& data) {
  const std::uint64_t leaf = leaves();
  CachedChunk& chunk = *TRY(chunk_of(leaf));
  TRY(range_.append(data.view()));
  byte_of(chunk.bits, leaf) |= mask_of(leaf);
  mark_dirty(leaf, chunk);
  return leaf;
}

Result<> LiveSet::flip(std::uint64_t leaf, Bit to) {
  if (leaf >= leaves())
    return fail(Code::kCorrupt, "leaf {} is beyond the {} of the MMR", leaf, leaves());
  CachedChunk& chunk = *TRY(chunk_of(leaf));
  if (is_set(chunk.bits, leaf) == (to == Bit::kSet))
    return fail(Code::kCorrupt, "leaf {} of the MMR is {} already", leaf,
                to == Bit::kSet ? "live" : "spent");
  byte_of(chunk.bits, leaf) ^= mask_of(leaf);
  mark_dirty(leaf, chunk);
  return {};
}

Result<> LiveSet::spend(std::uint64_t leaf) {
  return flip(leaf, Bit::kClear);
}

Result<> LiveSet::unspend(std::uint64_t leaf) {
  return flip(leaf, Bit::kSet);
}

Result<bool> LiveSet::live(std::uint64_t leaf) {
  if (leaf >= leaves()) return fail(Code::kNotFound, "the MMR has no leaf {}", leaf);
  return is_set(TRY(chunk_of(leaf))->bits, leaf);
}

Result<> LiveSet::rewind(std::uint64_t leaves_kept) {
  if (leaves_kept > leaves())
    return fail(Code::kInvalidInput, "cannot rewind {} leaves to {}", leaves(), leaves_kept);
  if (leaves_kept == leaves()) return {};
  if (leaves_kept % kLeavesPerChunk != 0) {
    CachedChunk& last = *TRY(chunk_of(leaves_kept));
    clear_from(last.bits, leaves_kept);
    mark_dirty(leaves_kept, last);
  }
  const std::uint64_t chunks_kept = chunks_for(leaves_kept);
  for (std::uint64_t index = chunks_kept; index < chunks_for(leaves()); ++index) {
    cache_.erase(index);
    chunks_.drop(index);
  }
  std::erase_if(dirty_, [&](std::uint64_t index) { return index >= chunks_kept; });
  TRY(range_.truncate(leaves_kept));
  return bitmap_.truncate(std::min(bitmap_.leaves(), chunks_kept));
}

Result<> LiveSet::flush_chunks() {
  std::sort(dirty_.begin(), dirty_.end());
  // Chunks that are new to the MMR come last: what is before them must be right first.
  const auto first_new = std::lower_bound(dirty_.begin(), dirty_.end(), bitmap_.leaves());
  std::vector<MountainRange::Change> changes;
  changes.reserve(static_cast<std::size_t>(first_new - dirty_.begin()));
  for (auto at = dirty_.begin(); at != first_new; ++at)
    changes.push_back(bitmap_.changed_leaf(*at, cache_.at(*at).bits.view()));
  TRY(bitmap_.replace(std::move(changes)));
  for (auto at = first_new; at != dirty_.end(); ++at) {
    CHECK(*at == bitmap_.leaves());
    TRY(bitmap_.append(cache_.at(*at).bits.view()));
  }
  for (const std::uint64_t index : dirty_) {
    CachedChunk& chunk = cache_.at(index);
    chunk.dirty = false;
    if (chunk.bits.is_zero())
      chunks_.drop(index);  // reads as zeros all the same
    else
      chunks_.put(index, chunk.bits);
  }
  dirty_.clear();
  CHECK(bitmap_.leaves() == chunks_for(leaves()));
  return {};
}

Result<Hash256> LiveSet::root() {
  TRY(flush_chunks());
  const Hash256 leaf_root = TRY(range_.root());
  const Hash256 bitmap_root = TRY(bitmap_.root());
  std::array<std::uint8_t, 1 + 8 + 2 * Hash256::kSize> input;
  input[0] = kRootTag;
  store_be64(&input[1], size());
  std::copy(leaf_root.begin(), leaf_root.end(), &input[9]);
  std::copy(bitmap_root.begin(), bitmap_root.end(), &input[9 + Hash256::kSize]);
  return crypto::blake2b_256(input);
}

Result<std::vector<Hash256>> LiveSet::peaks() {
  return range_.peaks();
}

Result<UnspentProof> LiveSet::prove(std::uint64_t leaf) {
  if (!TRY(live(leaf))) return fail(Code::kNotFound, "leaf {} of the MMR is spent", leaf);
  TRY(flush_chunks());
  UnspentProof proof;
  proof.size = size();
  proof.position = leaf_position(leaf);
  proof.leaf_path = TRY(range_.path(leaf));
  proof.chunk = TRY(chunk_of(leaf))->bits;
  proof.chunk_path = TRY(bitmap_.path(leaf / kLeavesPerChunk));
  return proof;
}

Result<> LiveSet::prune(const Final& final) {
  for (const std::uint64_t leaf : final.spent)
    if (leaf < leaves() && TRY(live(leaf)))
      return fail(Code::kCorrupt, "leaf {} of the MMR is live and cannot be pruned", leaf);
  return range_.prune(final);
}

}  // namespace coffer::mmr
