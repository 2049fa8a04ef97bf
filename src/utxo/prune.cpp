// Forgetting what no rollback and nobody else can ask for any more, block by block, driven by the
// deltas. Invariant: a pass that has nothing to do reads nothing (U5).
#include "base/result.h"
#include "base/stopwatch.h"
#include "utxo/keys.h"
#include "utxo/writer.h"

namespace coffer::utxo {
namespace {

constexpr std::uint64_t kForgetBudget = 100'000;

}  // namespace

// Blocks below this ordinal need their spent records no more: rollback does, in compact mode (U1).
std::uint64_t Writer::spent_horizon() const {
  const std::uint64_t depth =
      options_.self_contained_delta ? options_.prune_depth : options_.rollback_window;
  const std::uint64_t height = tip_.position.block_count();
  return height > depth ? height - depth : 0;
}

std::uint64_t Writer::delta_horizon() const {
  const std::uint64_t height = tip_.position.block_count();
  return height > options_.rollback_window ? height - options_.rollback_window : 0;
}

Result<> Writer::prune() {
  // At least as fast as work comes in, or a busy chain would never be done.
  const std::uint64_t budget = std::max(options_.prune_batch_size, 2 * spent_since_prune_);
  spent_since_prune_ = 0;
  return prune_to(spent_horizon(), delta_horizon(), budget);
}

// Before a block that leaves no delta, or no spent records: what those before it left is older
// still, and goes first. So what is kept has no gaps.
Result<> Writer::forget_before(bool deltas) {
  const std::uint64_t height = tip_.position.block_count();
  const std::uint64_t delta_end = deltas ? height : delta_horizon();
  if (tip_.prune_block >= height && tip_.delta_floor >= delta_end) return {};
  TRY(flush());
  while (tip_.prune_block < height || tip_.delta_floor < delta_end)
    TRY(prune_to(height, delta_end, kForgetBudget));
  return {};
}

Result<> Writer::prune_to(std::uint64_t spent_end, std::uint64_t delta_end, std::uint64_t budget) {
  if (tip_.prune_block >= spent_end && tip_.delta_floor >= delta_end) return {};
  const Stopwatch watch;
  kv::Batch batch;
  TRY(forget_spent(batch, spent_end, budget));
  TRY(drop_deltas(batch, delta_end, budget));
  if (accumulator_) {
    const Accumulator::Changes leaves = TRY(accumulator_->take_changes());
    for (const auto& [key, value] : leaves) {
      if (value)
        batch.put(columns_.mmr, key, *value);
      else
        batch.del(columns_.mmr, key);
    }
  }
  batch.put(columns_.meta, as_bytes(kTipKey), encode_tip(tip_));
  TRY(db_.commit(batch));
  committed_ = tip_;
  counters_.prunes += 1;
  counters_.prune_us += watch.micros();
  return {};
}

// The delta of a block that must have one.
Result<Bytes> Writer::delta_at(Ordinal ordinal) const {
  auto stored = TRY(db_.get(columns_.delta, ordinal_key(ordinal)));
  if (!stored)
    return fail(Code::kCorrupt, "the delta of ordinal {} is missing; run 'coffer utxo rebuild'",
                ordinal.value);
  return std::move(*stored);
}

Result<> Writer::forget_spent(kv::Batch& batch, std::uint64_t end, std::uint64_t& budget) {
  while (budget > 0 && tip_.prune_block < end) {
    const Bytes stored = TRY(delta_at(Ordinal(tip_.prune_block)));
    const BlockDelta delta = TRY(decode_delta(stored));
    // From here on the block cannot be undone in compact mode, half pruned or whole.
    if (!options_.self_contained_delta)
      tip_.undo_floor = std::max(tip_.undo_floor, tip_.prune_block + 1);
    for (; tip_.prune_entry < delta.prunable() && budget > 0; ++tip_.prune_entry, --budget) {
      const chain::Outpoint& outpoint = delta.prunable(tip_.prune_entry);
      if (!tip_.recreated_outpoints.empty() && !TRY(spent_by(outpoint, delta.number))) continue;
      batch.del(columns_.spent, outpoint_key(network_.family, outpoint).view());
      ++counters_.pruned;
    }
    if (tip_.prune_entry < delta.prunable()) return {};
    budget -= std::min<std::uint64_t>(budget, 1);
    ++tip_.prune_block;
    tip_.prune_entry = 0;
  }
  return {};
}

// Whether what is remembered of the outpoint is its spending by this block.
Result<bool> Writer::spent_by(const chain::Outpoint& outpoint, BlockNumber number) const {
  const auto stored = TRY(db_.get(columns_.spent, outpoint_key(network_.family, outpoint).view()));
  if (!stored) return false;
  return TRY(decode_spent(*stored)).number == number;
}

// The delta that brought these outpoints again is no longer kept.
void Writer::forget_recreated(const BlockDelta& delta) {
  for (const Replaced& old : delta.replaced) {
    if (old.spent.empty()) continue;
    const auto found =
        std::find(tip_.recreated_outpoints.begin(), tip_.recreated_outpoints.end(), old.outpoint);
    if (found != tip_.recreated_outpoints.end()) tip_.recreated_outpoints.erase(found);
  }
}

Result<> Writer::drop_deltas(kv::Batch& batch, std::uint64_t end, std::uint64_t& budget) {
  // A delta is needed until its spent records are gone.
  end = std::min(end, tip_.prune_block);
  budget = std::max<std::uint64_t>(budget, 2);  // so that each block makes room for the next
  for (; budget > 0 && tip_.delta_floor < end; ++tip_.delta_floor, --budget) {
    if (accumulator_ || !tip_.recreated_outpoints.empty()) {
      const Bytes stored = TRY(delta_at(Ordinal(tip_.delta_floor)));
      const BlockDelta delta = TRY(decode_delta(stored));
      forget_recreated(delta);
      if (accumulator_ && delta.mmr) TRY(accumulator_->prune(*delta.mmr));
    }
    batch.del(columns_.delta, ordinal_key(Ordinal(tip_.delta_floor)));
  }
  tip_.undo_floor = std::max(tip_.undo_floor, tip_.delta_floor);
  return {};
}

}  // namespace coffer::utxo
