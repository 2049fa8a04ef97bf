#include "utxo/accumulator.h"

#include "base/check.h"
#include "base/result.h"
#include "crypto/blake2b.h"
#include "mmr/position.h"

namespace coffer::utxo {
namespace {

enum Tag : std::uint8_t { kLeafNode = 0, kBitmapNode = 1, kChunk = 2 };

Bytes key_of(std::uint8_t tag, std::uint64_t at) {
  Bytes key = {tag};
  append_be64(key, at);
  return key;
}

Bytes value_of(const mmr::Node& node) {
  Bytes value(node.hash.begin(), node.hash.end());
  if (node.gone) value.push_back(1);
  return value;
}
Bytes value_of(const mmr::Chunk& chunk) {
  return Bytes(chunk.begin(), chunk.end());
}

template <typename Overlay>
void take(Accumulator::Changes& out, std::uint8_t tag, Overlay& overlay) {
  for (const auto& [at, value] : overlay.changes())
    out.emplace_back(key_of(tag, at),
                     value ? std::optional<Bytes>(value_of(*value)) : std::nullopt);
  overlay.clear();
}

}  // namespace

Result<mmr::Node> Accumulator::Nodes::get(std::uint64_t position) {
  const auto stored = TRY(db_.get(column_, key_of(tag_, position), snapshot_));
  if (!stored || stored->size() < Hash256::kSize)
    return fail(Code::kCorrupt, "node {} of the accumulator is missing; run 'coffer utxo rebuild'",
                position);
  return mmr::Node{Hash256::from(stored->data()), stored->size() > Hash256::kSize};
}

Result<mmr::Chunk> Accumulator::Chunks::get(std::uint64_t index) {
  const auto stored = TRY(db_.get(column_, key_of(kChunk, index), snapshot_));
  if (!stored) return mmr::Chunk{};
  return TRY(mmr::Chunk::from_view(*stored));
}

// The overlays take all writes.
void Accumulator::Nodes::put(std::uint64_t, const mmr::Node&) {
  CHECK(false);
}
void Accumulator::Nodes::drop(std::uint64_t) {
  CHECK(false);
}
void Accumulator::Chunks::put(std::uint64_t, const mmr::Chunk&) {
  CHECK(false);
}
void Accumulator::Chunks::drop(std::uint64_t) {
  CHECK(false);
}

Accumulator::Accumulator(const kv::Database& db, kv::Column column, std::uint64_t leaves,
                         const kv::Snapshot* snapshot)
    : leaf_nodes_on_disk_(db, column, kLeafNode, snapshot),
      bitmap_nodes_on_disk_(db, column, kBitmapNode, snapshot),
      chunks_on_disk_(db, column, snapshot),
      leaf_nodes_(leaf_nodes_on_disk_),
      bitmap_nodes_(bitmap_nodes_on_disk_),
      chunks_(chunks_on_disk_) {
  reset(leaves);
}

void Accumulator::reset(std::uint64_t leaves) {
  leaf_nodes_.clear();
  bitmap_nodes_.clear();
  chunks_.clear();
  set_.emplace(mmr::LiveSet::Stores{leaf_nodes_, bitmap_nodes_, chunks_}, leaves);
}

std::size_t Accumulator::bytes() const {
  constexpr std::size_t kNode = 96, kChunkEntry = 192;  // with what the map adds
  return (leaf_nodes_.changes().size() + bitmap_nodes_.changes().size()) * kNode +
         chunks_.changes().size() * kChunkEntry;
}

Hash256 Accumulator::leaf_data(ByteView outpoint_key, ByteView facts) {
  return crypto::Blake2b256().update(outpoint_key).update(facts).finish();
}

Result<> Accumulator::undo(const MmrDelta& delta) {
  for (const std::uint64_t leaf : delta.spent) TRY(set_->unspend(leaf));
  return set_->rewind(delta.first_leaf);
}

Result<> Accumulator::prune(const MmrDelta& delta) {
  mmr::Final final;
  final.spent = delta.spent;
  final.size_before = mmr::size_of(delta.first_leaf);
  final.size_after = mmr::size_of(delta.first_leaf + delta.leaves);
  return set_->prune(final);
}

Result<Accumulator::Changes> Accumulator::take_changes() {
  TRY(set_->flush_chunks());
  Changes changes;
  changes.reserve(leaf_nodes_.changes().size() + bitmap_nodes_.changes().size() +
                  chunks_.changes().size());
  take(changes, kLeafNode, leaf_nodes_);
  take(changes, kBitmapNode, bitmap_nodes_);
  take(changes, kChunk, chunks_);
  std::sort(changes.begin(), changes.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return changes;
}

}  // namespace coffer::utxo
