// Roots and proofs of the mmr store.
#include "base/result.h"
#include "utxo/accumulator.h"
#include "utxo/keys.h"
#include "utxo/state_impl.h"

namespace coffer::utxo {

Result<> UtxoState::needs_mmr() const {
  if (impl_->stored_options.store == StoreType::kMmr) return {};
  return fail(Error{Code::kConflict, false,
                    "roots and proofs need utxo.store = mmr; this state is classic: set it and run "
                    "'coffer utxo rebuild'",
                    "needs_mmr"});
}

Result<Root> UtxoState::root(std::optional<BlockNumber> number) const {
  TRY(needs_mmr());
  const kv::Snapshot snapshot = impl_->db.snapshot();
  const Tip tip = TRY(read_tip(impl_->db, impl_->columns.meta, &snapshot));
  if (!number && (tip.position.at_origin || tip.delta_floor == tip.position.block_count())) {
    Accumulator accumulator(impl_->db, impl_->columns.mmr, tip.leaves, &snapshot);
    return Root{TRY(accumulator.set().root()), tip.leaves, tip.number, tip.position.point.hash};
  }
  Bytes stored;
  BlockDelta delta;
  if (number) {
    auto found = TRY(find_delta(tip, *number, snapshot, stored));
    delta = std::move(found.second);
  } else {  // by position: a boundary block shares its number with the one before
    auto newest =
        TRY(impl_->db.get(impl_->columns.delta, ordinal_key(tip.position.ordinal), &snapshot));
    if (!newest) return fail(Code::kCorrupt, "the newest delta is missing");
    stored = std::move(*newest);
    delta = TRY(decode_delta(stored));
  }
  if (!delta.mmr)
    return fail(Code::kCorrupt, "the delta of block {} has no root", delta.number.value);
  return Root{delta.mmr->root, delta.mmr->first_leaf + delta.mmr->leaves, delta.number, delta.hash};
}

// Goes back from the newest state in memory, block by block, so the cost grows with the distance.
Result<mmr::UnspentProof> UtxoState::prove(const chain::Outpoint& outpoint,
                                           std::optional<BlockNumber> number) const {
  TRY(needs_mmr());
  const kv::Snapshot snapshot = impl_->db.snapshot();
  const Tip tip = TRY(read_tip(impl_->db, impl_->columns.meta, &snapshot));
  Accumulator accumulator(impl_->db, impl_->columns.mmr, tip.leaves, &snapshot);
  BlockNumber block = tip.number;
  Hash256 block_hash = tip.position.point.hash;
  // The record as a block undone on the way had it: of an output whose spent record is forgotten.
  std::optional<Bytes> in_delta;
  if (number && *number != tip.number) {
    Bytes stored;
    const auto [ordinal, target] = TRY(find_delta(tip, *number, snapshot, stored));
    block = target.number;
    block_hash = target.hash;
    for (std::uint64_t height = tip.position.block_count(); height > ordinal.value + 1; --height) {
      const auto bytes =
          TRY(impl_->db.get(impl_->columns.delta, ordinal_key(Ordinal(height - 1)), &snapshot));
      if (!bytes) return fail(Code::kCorrupt, "the delta of ordinal {} is missing", height - 1);
      const BlockDelta delta = TRY(decode_delta(*bytes));
      if (delta.mmr) TRY(accumulator.undo(*delta.mmr));
      for (const DeltaEntry& entry : delta.spent)
        if (!entry.record.empty() && entry.outpoint == outpoint)
          in_delta = Bytes(entry.record.begin(), entry.record.end());
    }
  }
  const auto not_unspent = [&] {
    return fail(Code::kNotFound, "{} was not unspent after block {}",
                chain::display(impl_->network.family, outpoint), block.value);
  };
  // The key would hold another output's index.
  if (!has_key(impl_->network.family, outpoint)) return not_unspent();
  const OutpointKey key = outpoint_key(impl_->network.family, outpoint);
  auto stored = TRY(impl_->db.get(impl_->columns.unspent, key.view(), &snapshot));
  if (in_delta) stored = std::move(in_delta);
  if (!stored) {
    if (const auto spent = TRY(impl_->db.get(impl_->columns.spent, key.view(), &snapshot))) {
      const ByteView before = TRY(decode_spent(*spent)).before;
      stored = Bytes(before.begin(), before.end());
    }
  }
  if (!stored) return not_unspent();
  const RecordHead head = TRY(decode_head(*stored));
  if (!head.leaf || *head.leaf >= accumulator.set().leaves() ||
      !TRY(accumulator.set().live(*head.leaf)))
    return not_unspent();
  mmr::UnspentProof proof = TRY(accumulator.set().prove(*head.leaf));
  proof.block_number = block.value;
  std::copy(block_hash.begin(), block_hash.end(), proof.block_hash.begin());
  proof.outpoint.assign(key.view().begin(), key.view().end());
  proof.record = TRY(chain_facts(*stored));
  return proof;
}

}  // namespace coffer::utxo
