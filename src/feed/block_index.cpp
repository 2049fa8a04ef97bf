#include "feed/block_index.h"

#include <deque>

#include <coffer/chain/decode.h>
#include "base/result.h"
#include "crypto/sha256.h"

namespace coffer::feed {
namespace {

constexpr std::size_t kBitcoinHeaderBytes = 80;

}  // namespace

Result<IndexedBlock> read_header(const chain::Network& network, ByteView raw) {
  IndexedBlock block;
  if (network.family == chain::Family::kBitcoin) {
    if (raw.size() < kBitcoinHeaderBytes)
      return fail(Code::kInvalidInput, "{} bytes are too few for a block header", raw.size());
    const ByteView header = raw.first(kBitcoinHeaderBytes);
    block.hash = crypto::sha256d(header);
    block.prev = Hash256::from(header.data() + 4);
    block.weight = work_of_bits(load_le<std::uint32_t>(header.data() + 72));
    return block;
  }
  thread_local chain::Block decoded;
  TRY(chain::decode_into(decoded, network, raw, {.hash = true, .verify = false}));
  block.hash = decoded.hash;
  block.prev = decoded.prev;
  block.number = decoded.number.value;
  // A boundary block comes after the block whose number it shares.
  block.weight = Work::of(2 * block.number + (decoded.epoch_boundary ? 1 : 0));
  block.slot = decoded.slot.value;
  return block;
}

bool BlockIndex::is_first(Id id) const {
  const IndexedBlock& block = blocks_[id];
  if (id == anchor_) return true;
  if (network_.family == chain::Family::kBitcoin) return block.hash == network_.genesis;
  return block.prev.is_zero() || block.prev == network_.genesis;
}

Result<> BlockIndex::add(IndexedBlock block) {
  if (blocks_.size() >= kNoBlock - 1) return fail(Code::kTooLarge, "more than 2^32 - 2 blocks");
  const Id id = static_cast<Id>(blocks_.size());
  if (!by_hash_.emplace(block.hash, id).second) return {};
  blocks_.push_back(block);
  add_to_chain(id);
  return {};
}

void BlockIndex::add_to_chain(Id id) {
  if (is_first(id)) return connect_with_successors(id, kNoBlock);
  const auto parent = find(blocks_[id].prev);
  if (parent && blocks_[*parent].position != kNoBlock)
    connect_with_successors(id, *parent);
  else
    waiting_.emplace(blocks_[id].prev, id);
}

void BlockIndex::forget(std::span<const Id> ids) {
  if (ids.empty()) return;
  for (const Id id : ids) by_hash_.erase(blocks_[id].hash);
  // The weight of a connected block holds that of its predecessors.
  std::vector<Work> own(blocks_.size());
  for (Id id = 0; id < blocks_.size(); ++id) {
    own[id] = blocks_[id].weight;
    const bool added = blocks_[id].position != kNoBlock && blocks_[id].parent != kNoBlock;
    if (added && network_.family == chain::Family::kBitcoin)
      own[id] -= blocks_[blocks_[id].parent].weight;
  }
  for (Id id = 0; id < blocks_.size(); ++id) {
    blocks_[id].weight = own[id];
    blocks_[id].position = kNoBlock;  // its parent stays: it tells where a lost branch came from
  }
  waiting_.clear();
  best_.clear();
  for (Id id = 0; id < blocks_.size(); ++id)
    if (find(blocks_[id].hash) == id && blocks_[id].position == kNoBlock) add_to_chain(id);
}

bool BlockIndex::anchor(const chain::Point& point) {
  if (!best_.empty()) return false;
  IndexedBlock block;
  block.hash = point.hash;
  block.slot = point.slot.value;  // the height on Bitcoin; on Cardano the successors have theirs
  if (auto known = find(point.hash)) {
    std::uint64_t below = 0;
    for (; known; known = find(block.hash), ++below) block.hash = blocks_[*known].prev;
    const bool bitcoin = network_.family == chain::Family::kBitcoin;
    if (bitcoin && point.slot.value < below) return false;
    block.slot = bitcoin ? point.slot.value - below : 0;
  } else if (!waiting_.contains(point.hash)) {
    return false;
  }
  block.number = block.slot;
  const Id id = static_cast<Id>(blocks_.size());
  by_hash_.emplace(block.hash, id);
  blocks_.push_back(block);
  anchor_ = id;
  add_to_chain(id);
  return true;
}

void BlockIndex::connect(Id id, Id parent) {
  IndexedBlock& block = blocks_[id];
  block.parent = parent;
  block.position = 0;
  if (parent != kNoBlock) {
    const IndexedBlock& before = blocks_[parent];
    block.position = before.position + 1;
    if (network_.family == chain::Family::kBitcoin) {
      block.number = block.slot = before.number + 1;
      block.weight += before.weight;
    }
  }
  const auto worse = [&](const IndexedBlock& tip, Id tip_id) {
    return tip.weight < block.weight || (tip.weight == block.weight && id < tip_id);
  };
  if (best_.empty() || worse(blocks_[best_.back()], best_.back())) take_as_tip(id);
}

void BlockIndex::connect_with_successors(Id first, Id parent) {
  connect(first, parent);
  std::deque<Id> open = {first};
  while (!open.empty()) {
    const Id id = open.front();
    open.pop_front();
    auto [begin, end] = waiting_.equal_range(blocks_[id].hash);
    std::vector<Id> next;
    for (auto it = begin; it != end; ++it) next.push_back(it->second);
    waiting_.erase(begin, end);
    for (const Id successor : next) {
      connect(successor, id);
      open.push_back(successor);
    }
  }
}

void BlockIndex::take_as_tip(Id id) {
  best_.resize(blocks_[id].position + 1, kNoBlock);
  for (Id at = id; at != kNoBlock && best_[blocks_[at].position] != at; at = blocks_[at].parent)
    best_[blocks_[at].position] = at;
}

std::optional<BlockIndex::Id> BlockIndex::find(const Hash256& hash) const {
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) return std::nullopt;
  return found->second;
}

std::optional<BlockIndex::Id> BlockIndex::find_on_best(const Hash256& hash) const {
  const auto found = find(hash);
  return found && on_best(*found) ? found : std::nullopt;
}

std::optional<BlockIndex::Id> BlockIndex::find_fork(const Hash256& hash) const {
  auto found = find(hash);
  while (found && !on_best(*found)) {
    const Id parent = blocks_[*found].position == kNoBlock ? kNoBlock : blocks_[*found].parent;
    found = parent == kNoBlock ? std::nullopt : std::optional(parent);
  }
  return found;
}

std::vector<BlockIndex::Id> BlockIndex::in_file(std::uint32_t file) const {
  std::vector<Id> ids;
  for (Id id = 0; id < blocks_.size(); ++id)
    if (blocks_[id].place.file == file && blocks_[id].place.size > 0 &&
        find(blocks_[id].hash) == id)
      ids.push_back(id);
  std::ranges::sort(ids, {}, [&](Id id) { return blocks_[id].place.offset; });
  return ids;
}

chain::Point BlockIndex::point(Id id) const {
  return {Slot(blocks_[id].slot), blocks_[id].hash};
}

std::optional<BlockIndex::Id> BlockIndex::first_waiting() const {
  std::optional<Id> first;
  for (const auto& [prev, id] : waiting_)
    if (!by_hash_.contains(prev) && (!first || id < *first)) first = id;
  return first;
}

}  // namespace coffer::feed
