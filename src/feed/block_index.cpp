#include "feed/block_index.h"

#include <deque>

#include "chain/decode.h"
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

bool BlockIndex::is_first(const IndexedBlock& block) const {
  if (network_.family == chain::Family::kBitcoin) return block.hash == network_.genesis;
  return block.prev.is_zero() || block.prev == network_.genesis;
}

Result<> BlockIndex::add(IndexedBlock block) {
  if (blocks_.size() >= kNoBlock - 1) return fail(Code::kTooLarge, "more than 2^32 - 2 blocks");
  const Id id = static_cast<Id>(blocks_.size());
  if (!by_hash_.emplace(block.hash, id).second) return {};
  blocks_.push_back(block);
  if (is_first(block)) {
    connect_with_successors(id, kNoBlock);
    return {};
  }
  auto parent = by_hash_.find(block.prev);
  if (parent != by_hash_.end() && blocks_[parent->second].position != kNoBlock)
    connect_with_successors(id, parent->second);
  else
    waiting_.emplace(block.prev, id);
  return {};
}

bool BlockIndex::anchor(const chain::Point& point) {
  if (!best_.empty() || by_hash_.contains(point.hash) || !waiting_.contains(point.hash))
    return false;
  const Id id = static_cast<Id>(blocks_.size());
  IndexedBlock block;
  block.hash = point.hash;
  block.slot = point.slot.value;
  block.number = point.slot.value;  // the height on Bitcoin; on Cardano the successors have theirs
  by_hash_.emplace(block.hash, id);
  blocks_.push_back(block);
  connect_with_successors(id, kNoBlock);
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

std::optional<BlockIndex::Id> BlockIndex::find_on_best(const Hash256& hash) const {
  auto found = by_hash_.find(hash);
  if (found == by_hash_.end() || !on_best(found->second)) return std::nullopt;
  return found->second;
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
