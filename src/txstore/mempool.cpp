// The mempool as the source tells it: transactions that come, and that leave without being mined.
#include "base/result.h"
#include "txstore/consumer_impl.h"

namespace coffer::txstore {

// Among unmined transactions the source's newcomer wins (X8).
Result<bool> Consumer::Impl::see(const bus::TxSeen& seen) {
  const NewTx tx = new_tx(*seen.tx, seen.tx->txs.front(), std::nullopt);
  std::optional<Hash256> missing;
  std::uint64_t conflicted = 0;
  bool stored = false;
  const Result<> done = impl.run_unit(Hold::kRecords, [&](Workspace& work) -> Result<> {
    missing.reset();
    conflicted = 0;
    stored = false;
    std::vector<Hash256> ids{tx.id};
    for (const chain::Outpoint& input : tx.inputs) ids.push_back(input.tx);
    TRY(work.load(ids));
    TRY(work.load_entries(tx.inputs));
    TRY(work.load_marks({&tx.id, 1}));
    const std::uint64_t height = work.height();
    Record* record = work.find(tx.id);
    if (record != nullptr && record->head.state == State::kMined) return {};
    if (record != nullptr && record->head.state == State::kUnmined) {
      if (!record->head.absent_since) return {};
      record->head.absent_since.reset();
      work.restamp(*record, height);
      return {};
    }
    if (record == nullptr) {
      const ItemResult fits = check_new(work, tx);
      if (fits.outcome == Outcome::kUnknownParent) missing = fits.other;
      if (fits.outcome != Outcome::kDone) return {};
    }
    std::vector<Hash256> rivals;
    for (const chain::Outpoint& input : tx.inputs) {
      const Entry* entry = work.find_entry(input);
      if (entry != nullptr && entry->spent && entry->spender != tx.id)
        rivals.push_back(entry->spender);
    }
    TRY(work.load(rivals));
    std::vector<Record*> losers;
    for (const Hash256& id : rivals) {
      Record* rival = work.find(id);
      // The chain has another: the newcomer is of a branch that we do not follow, or is not valid.
      if (rival == nullptr || rival->head.state != State::kUnmined) return {};
      losers.push_back(rival);
    }
    conflicted = TRY(mark_conflicting(work, std::move(losers), height));
    if (record == nullptr) record = &create_record(work, tx, height);
    if (record->head.state == State::kConflicting) {
      work.touch(*record);
      record->head.state = State::kUnmined;
      record->head.unmined_since = height;
      record->head.delete_at_height.reset();
      work.restamp(*record, height);
    }
    const auto unknown = work.tip().first_block ? MissingParents::kSkip : MissingParents::kRefuse;
    const SpendResult taken = take_inputs(work, *record, {}, height, unknown);
    if (taken.outcome != Outcome::kDone && taken.outcome != Outcome::kUnchanged)
      return fail(Code::kConflict, "not taken: {}", to_string(taken.outcome));
    stored = true;
    return {};
  });
  // Frozen, locked or immature: what people or the chain do not allow is not an error of the
  // source.
  if (!done && done.error().code != Code::kConflict) return fail(done.error());
  if (missing) waiting.add(seen, *missing);
  {
    const std::lock_guard lock(impl.mutex);
    ++impl.counters.seen;
    impl.counters.conflicted += done ? conflicted : 0;
    impl.counters.waiting = waiting.size();
  }
  return done && stored;
}

Result<> Consumer::Impl::see_waiting(std::vector<Hash256> arrived) {
  while (!arrived.empty() && waiting.size() > 0) {
    const Hash256 parent = arrived.back();
    arrived.pop_back();
    for (const bus::TxSeen& child : waiting.take(parent))
      if (TRY(see(child))) arrived.push_back(child.id());
  }
  return {};
}

Result<> Consumer::on_tx_seen(const bus::TxSeen& seen) {
  TRY(impl_->commit());
  if (!TRY(impl_->see(seen))) return {};
  return impl_->see_waiting({seen.id()});
}

Result<> Consumer::on_tx_dropped(const bus::TxDropped& dropped) {
  TRY(impl_->commit());
  impl_->waiting.remove(dropped.id);
  return impl_->impl.run_unit(Hold::kRecords, [&](Workspace& work) -> Result<> {
    TRY(work.load({dropped.id}));
    Record* record = work.find(dropped.id);
    if (record == nullptr || record->head.state != State::kUnmined || record->head.absent_since)
      return {};
    record->head.absent_since = work.height();
    work.restamp(*record, work.height());
    return {};
  });
}

}  // namespace coffer::txstore
