// The accumulator's part of applying, undoing and pruning. Nothing on the classic store.
#include "base/result.h"
#include "utxo/keys.h"
#include "utxo/writer.h"

namespace coffer::utxo {

// Gives the output in `work_.scratch` the next leaf; the index it got.
Result<std::uint64_t> Writer::append_leaf(const chain::Outpoint& outpoint, ByteView facts) {
  const OutpointKey key = outpoint_key(network_.family, outpoint);
  const std::uint64_t leaf =
      TRY(accumulator_->set().append(Accumulator::leaf_data(key.view(), facts)));
  tip_.leaves = accumulator_->set().leaves();
  return leaf;
}

Result<> Writer::finalize_leaves() {
  if (!accumulator_) return {};
  MmrDelta mmr;
  mmr.first_leaf = work_.first_leaf;
  mmr.leaves = tip_.leaves - work_.first_leaf;
  const auto spend = [&](ByteView record) -> Result<> {
    const RecordHead head = TRY(decode_head(record));
    if (!head.leaf) return fail(Code::kCorrupt, "an output has no leaf; run 'coffer utxo rebuild'");
    mmr.spent.push_back(*head.leaf);
    return accumulator_->set().spend(*head.leaf);
  };
  for (const Spend& spent : work_.spends)
    if (spent.cached->state == CacheState::kSpending) TRY(spend(spent.cached->body.view()));
  for (const Overwritten& old : work_.overwritten)
    if (!old.record.empty()) TRY(spend(old.record));
  if (!work_.keep_delta) return accumulator_->prune(mmr);  // final as soon as it is applied
  mmr.peaks = TRY(accumulator_->set().peaks());
  mmr.root = TRY(accumulator_->set().root());
  work_.delta.mmr = std::move(mmr);
  return {};
}

Result<> Writer::undo_leaves(const BlockDelta& delta) {
  if (!accumulator_) return {};
  if (!delta.mmr)
    return fail(Code::kCorrupt, "the delta of block {} says nothing of the accumulator",
                delta.number.value);
  TRY(accumulator_->undo(*delta.mmr));
  tip_.leaves = accumulator_->set().leaves();
  return {};
}

}  // namespace coffer::utxo
