// Forgetting what no rollback and nobody else can ask for any more, block by block, driven by the
// deltas. Invariant: a pass that has nothing to do reads nothing (U5).
#include "base/stopwatch.h"
#include "utxo/keys.h"
#include "utxo/writer.h"

namespace coffer::utxo {

// Blocks below this ordinal need their spent records no more: rollback does, in compact mode (U1).
std::uint64_t Writer::spent_horizon() const {
  const std::uint64_t depth =
      options_.self_contained_delta ? options_.prune_depth : options_.rollback_window;
  const std::uint64_t height = tip_.position.height();
  return height > depth ? height - depth : 0;
}

std::uint64_t Writer::delta_horizon() const {
  const std::uint64_t height = tip_.position.height();
  return height > options_.rollback_window ? height - options_.rollback_window : 0;
}

// The first delta at or after `from` and before `end`; moves `from` to it, or to `end`.
Result<std::optional<Bytes>> Writer::next_delta(std::uint64_t& from, std::uint64_t end) const {
  if (from >= end) return std::nullopt;
  if (auto stored = TRY(db_.get(columns_.delta, ordinal_key(Ordinal(from))))) return stored;
  const auto lower = ordinal_key(Ordinal(from)), upper = ordinal_key(Ordinal(end));
  kv::Iterator it = db_.iterate(columns_.delta, {.lower_bound = lower, .upper_bound = upper});
  it.seek_to_first();
  if (it.valid()) {
    from = load_be64(it.key().data());
    return Bytes(it.value().begin(), it.value().end());
  }
  TRY(it.status());
  from = end;
  return std::nullopt;
}

Result<> Writer::prune() {
  // At least as fast as work comes in, or a busy chain would never be done.
  std::uint64_t budget = std::max(options_.prune_batch_size, 2 * spent_since_prune_);
  spent_since_prune_ = 0;
  if (tip_.prune_block >= spent_horizon() && tip_.delta_floor >= delta_horizon()) return {};
  const Stopwatch watch;
  kv::Batch batch;
  TRY(forget_spent(batch, budget));
  TRY(drop_deltas(batch, budget));
  if (batch.empty()) return {};
  batch.put(columns_.meta, as_bytes(kTipKey), encode_tip(tip_));
  TRY(db_.commit(batch));
  committed_ = tip_;
  counters_.prunes += 1;
  counters_.prune_us += watch.micros();
  return {};
}

Result<> Writer::forget_spent(kv::Batch& batch, std::uint64_t& budget) {
  const std::uint64_t end = spent_horizon();
  while (budget > 0) {
    const std::uint64_t before = tip_.prune_block;
    const auto stored = TRY(next_delta(tip_.prune_block, end));
    if (tip_.prune_block != before) tip_.prune_entry = 0;
    if (!stored) return {};
    const BlockDelta delta = TRY(decode_delta(*stored));
    // From here on the block cannot be undone in compact mode, half pruned or whole.
    if (!options_.self_contained_delta)
      tip_.undo_floor = std::max(tip_.undo_floor, tip_.prune_block + 1);
    const std::uint64_t entries = delta.spent.size() + delta.transient.size();
    for (; tip_.prune_entry < entries && budget > 0; ++tip_.prune_entry, --budget) {
      const std::size_t at = tip_.prune_entry;
      const chain::Outpoint& outpoint = at < delta.spent.size()
                                            ? delta.spent[at].outpoint
                                            : delta.transient[at - delta.spent.size()];
      batch.del(columns_.spent, outpoint_key(network_.family, outpoint).view());
      ++counters_.pruned;
    }
    if (tip_.prune_entry < entries) return {};
    budget -= std::min<std::uint64_t>(budget, 1);
    ++tip_.prune_block;
    tip_.prune_entry = 0;
  }
  return {};
}

Result<> Writer::drop_deltas(kv::Batch& batch, std::uint64_t& budget) {
  // A delta is needed until its spent records are gone.
  const std::uint64_t end = std::min(delta_horizon(), tip_.prune_block);
  budget = std::max<std::uint64_t>(budget, 2);  // so that each block makes room for the next
  while (budget > 0) {
    const auto stored = TRY(next_delta(tip_.delta_floor, end));
    if (!stored) break;
    TRY(prune_leaves(*stored));
    batch.del(columns_.delta, ordinal_key(Ordinal(tip_.delta_floor)));
    ++tip_.delta_floor;
    --budget;
  }
  tip_.undo_floor = std::max(tip_.undo_floor, tip_.delta_floor);
  return {};
}

}  // namespace coffer::utxo
