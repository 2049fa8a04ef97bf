// Opening, and the operations on lists. Each is one unit.
#include "base/check.h"
#include "base/result.h"
#include "txstore/rocksdb/backend.h"
#include "txstore/sql/backend.h"
#include "txstore/store_impl.h"

namespace coffer::txstore {

Result<> Store::Impl::run_unit(Hold hold, const std::function<Result<>(Workspace&)>& body) {
  Tip after;
  Result<> done = backend->run(hold, [&](Unit& unit) -> Result<> {
    Workspace work(unit, options);
    TRY(body(work));
    after = work.tip();
    return work.save();
  });
  if (!done) return done;
  const std::lock_guard lock(mutex);
  tip = after;
  return {};
}

Result<> Store::Impl::begin(std::span<const chain::GenesisUtxo> genesis) {
  for (const chain::GenesisUtxo& utxo : genesis)
    if (utxo.kind == chain::GenesisKind::kRedeem) redeem_outputs.push_back(utxo.outpoint);
  Result<> opened = backend->read([&](View& view) -> Result<> {
    tip = view.tip();
    return {};
  });
  if (!opened) return opened;
  if (!tip.position.at_origin || genesis.empty()) return {};
  return run_unit(Hold::kTip, [&](Workspace& work) -> Result<> {
    std::vector<Hash256> ids;
    for (const chain::GenesisUtxo& utxo : genesis) ids.push_back(utxo.outpoint.tx);
    TRY(work.load(ids));
    TRY(work.load_marks(ids));
    for (const chain::GenesisUtxo& utxo : genesis) {
      if (work.find(utxo.outpoint.tx) != nullptr) continue;
      NewTx tx;
      tx.id = utxo.outpoint.tx;
      tx.outputs.push_back({output_hash(utxo.outpoint, utxo.address, utxo.amount), utxo.amount});
      Record& record = create_record(work, std::move(tx), 0);
      record.head.genesis = true;
      work.restamp(record, 0);
    }
    return {};
  });
}

Store::Store(std::unique_ptr<Backend> backend, const chain::Network& network,
             const Options& options)
    : impl_(std::make_unique<Impl>(std::move(backend), network, options)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(std::unique_ptr<Backend> backend,
                                           const chain::Network& network, const Options& options,
                                           std::span<const chain::GenesisUtxo> genesis) {
  std::unique_ptr<Store> store(new Store(std::move(backend), network, options));
  TRY(store->impl_->begin(genesis));
  return store;
}

Result<std::unique_ptr<Store>> Store::open(kv::Database& db, const chain::Network& network,
                                           const Options& options,
                                           std::span<const chain::GenesisUtxo> genesis) {
  return open(TRY(open_rocksdb(db, network, false)), network, options, genesis);
}

Result<std::unique_ptr<Store>> Store::open_to_read(kv::Database& db, const chain::Network& network,
                                                   const Options& options) {
  return open(TRY(open_rocksdb(db, network, true)), network, options, {});
}

Result<std::unique_ptr<Store>> Store::open(sql::Database& db, const chain::Network& network,
                                           const Options& options,
                                           std::span<const chain::GenesisUtxo> genesis) {
  return open(TRY(open_sql(db, network)), network, options, genesis);
}

const chain::Network& Store::network() const {
  return impl_->network;
}
const Options& Store::options() const {
  return impl_->options;
}
Backend& Store::backend() {
  return *impl_->backend;
}
Tip Store::tip() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->tip;
}
CounterTotals Store::counters() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->counters;
}

namespace {

// Ids of what an operation is about, loaded, and what it does to each that is stored.
using Results = std::vector<ItemResult>;
using SpendResults = std::vector<SpendResult>;
using EachRecord = std::function<Result<ItemResult>(Workspace&, Record&, std::size_t)>;

Result<std::vector<ItemResult>> for_each_record(Store::Impl& impl, std::span<const Hash256> ids,
                                                const EachRecord& each, bool durable = false) {
  return impl.run<Results>(Hold::kRecords, [&](Workspace& work) -> Result<Results> {
    Results results;
    work.changes().durable = durable;
    TRY(work.load({ids.begin(), ids.end()}));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      Record* record = work.find(ids[i]);
      results.push_back(record == nullptr ? ItemResult{Outcome::kNotFound}
                                          : TRY(each(work, *record, i)));
    }
    return results;
  });
}

// The same for single outputs; what people do.
using EachOutput = std::function<Result<ItemResult>(Workspace&, Record&, Entry&, std::size_t)>;

Result<std::vector<ItemResult>> for_each_output(Store::Impl& impl,
                                                std::span<const chain::Outpoint> outputs,
                                                const EachOutput& each) {
  std::vector<Hash256> ids;
  for (const chain::Outpoint& outpoint : outputs) ids.push_back(outpoint.tx);
  return for_each_record(
      impl, ids,
      [&](Workspace& work, Record& record, std::size_t i) -> Result<ItemResult> {
        TRY(work.load_entries({&outputs[i], 1}));
        Entry* entry = work.find_entry(outputs[i]);
        if (entry == nullptr || entry->unspendable) return ItemResult{Outcome::kOutputNotFound};
        return each(work, record, *entry, i);
      },
      true);
}

}  // namespace

Result<std::vector<ItemResult>> Store::create(std::span<const NewTx> txs) {
  return impl_->run<Results>(Hold::kRecords, [&](Workspace& work) -> Result<Results> {
    Results results;
    std::vector<Hash256> ids, created;
    std::vector<chain::Outpoint> parents;
    for (const NewTx& tx : txs) {
      created.push_back(tx.id);
      ids.push_back(tx.id);
      for (const chain::Outpoint& input : tx.inputs) {
        ids.push_back(input.tx);
        parents.push_back(input);
      }
    }
    TRY(work.load(ids));
    TRY(work.load_entries(parents));
    TRY(work.load_marks(created));
    for (const NewTx& tx : txs) {
      results.push_back(check_new(work, tx));
      if (results.back().outcome != Outcome::kDone) continue;
      if (tx.mined_in && !work.tip().first_block)
        for (const chain::Outpoint& input : tx.inputs)
          work.changes().counts.parent_missing += work.find_entry(input) == nullptr ? 1 : 0;
      (void)create_record(work, tx, tx.mined_in ? tx.mined_in->height : work.height());
      if (tx.mined_in) TRY(forget_lock(work, tx.id));
    }
    return results;
  });
}

Result<std::vector<SpendResult>> Store::spend(std::span<const SpendRequest> requests) {
  return impl_->run<SpendResults>(Hold::kRecords, [&](Workspace& work) -> Result<SpendResults> {
    SpendResults results;
    std::vector<Hash256> ids;
    for (const SpendRequest& request : requests) ids.push_back(request.spender);
    TRY(work.load(ids));
    std::vector<Record*> spenders;
    for (const Hash256& id : ids)
      if (Record* spender = work.find(id)) spenders.push_back(spender);
    TRY(work.load_parents(spenders));
    for (const SpendRequest& request : requests) {
      Record* spender = work.find(request.spender);
      if (spender == nullptr)
        results.push_back({Outcome::kNotFound, {}});
      else if (spender->head.state == State::kConflicting)
        results.push_back({Outcome::kConflicting, {}});
      else
        results.push_back(take_inputs(work, *spender, request.output_hashes, work.height()));
    }
    return results;
  });
}

Result<std::vector<SpendResult>> Store::unspend(std::span<const Hash256> spenders) {
  return impl_->run<SpendResults>(Hold::kRecords, [&](Workspace& work) -> Result<SpendResults> {
    SpendResults results;
    TRY(work.load({spenders.begin(), spenders.end()}));
    std::vector<Record*> found;
    for (const Hash256& id : spenders)
      if (Record* spender = work.find(id)) found.push_back(spender);
    TRY(work.load_parents(found));
    for (const Hash256& id : spenders) {
      Record* spender = work.find(id);
      if (spender == nullptr)
        results.push_back({Outcome::kNotFound, {}});
      else if (spender->head.state == State::kMined)
        results.push_back({Outcome::kMined, {}});
      else
        results.push_back(release_inputs(work, *spender, work.height()));
    }
    return results;
  });
}

Result<std::vector<ItemResult>> Store::set_mined(std::span<const Hash256> ids,
                                                 const BlockRef& block, bool longest_chain) {
  return for_each_record(*impl_, ids,
                         [&](Workspace& work, Record& record, std::size_t) -> Result<ItemResult> {
                           const bool was_locked = record.head.locked;
                           const ItemResult result =
                               txstore::set_mined(work, record, block, longest_chain, block.height);
                           if (was_locked && !record.head.locked)
                             TRY(forget_lock(work, record.head.id));
                           return result;
                         });
}

Result<std::vector<ItemResult>> Store::unset_mined(std::span<const Hash256> ids,
                                                   const BlockRef& block) {
  return for_each_record(*impl_, ids, [&](Workspace& work, Record& record, std::size_t) {
    return txstore::unset_mined(work, record, block, work.height());
  });
}

Result<std::vector<ItemResult>> Store::mark_conflicting(std::span<const Hash256> ids) {
  return for_each_record(*impl_, ids,
                         [&](Workspace& work, Record& record, std::size_t) -> Result<ItemResult> {
                           if (record.head.state == State::kMined)
                             return ItemResult{Outcome::kMined};
                           if (record.head.state == State::kConflicting)
                             return ItemResult{Outcome::kUnchanged};
                           (void)TRY(txstore::mark_conflicting(work, {&record}, work.height()));
                           return ItemResult{Outcome::kDone};
                         });
}

Result<std::vector<ItemResult>> Store::unmark_conflicting(std::span<const Hash256> ids) {
  return for_each_record(*impl_, ids, [&](Workspace& work, Record& record, std::size_t) {
    return txstore::unmark_conflicting(work, record, work.height());
  });
}

Result<std::vector<ItemResult>> Store::remove(std::span<const Hash256> ids) {
  return for_each_record(*impl_, ids, [&](Workspace& work, Record& record, std::size_t) {
    return txstore::remove(work, record);
  });
}

Result<std::vector<ItemResult>> Store::lock(std::span<const Hash256> ids) {
  return for_each_record(
      *impl_, ids,
      [&](Workspace& work, Record& record, std::size_t) -> Result<ItemResult> {
        if (record.head.state == State::kMined) return ItemResult{Outcome::kMined};
        if (record.head.locked) return ItemResult{Outcome::kUnchanged};
        TRY(work.mark(record.head.id))->locked = true;
        record.head.locked = true;
        work.restamp(record, work.height());
        return ItemResult{Outcome::kDone};
      },
      true);
}

Result<std::vector<ItemResult>> Store::unlock(std::span<const Hash256> ids) {
  return for_each_record(
      *impl_, ids,
      [&](Workspace& work, Record& record, std::size_t) -> Result<ItemResult> {
        if (!record.head.locked) return ItemResult{Outcome::kUnchanged};
        TRY(work.mark(record.head.id))->locked = false;
        record.head.locked = false;
        work.restamp(record, work.height());
        return ItemResult{Outcome::kDone};
      },
      true);
}

Result<std::vector<ItemResult>> Store::freeze(std::span<const chain::Outpoint> outputs) {
  return for_each_output(
      *impl_, outputs,
      [&](Workspace& work, Record& record, Entry& entry, std::size_t i) -> Result<ItemResult> {
        if (entry.spent) return ItemResult{Outcome::kSpent, entry.spender};
        if (entry.frozen) return ItemResult{Outcome::kUnchanged};
        TRY(work.mark(record.head.id))->frozen.push_back(outputs[i].index);
        work.touch_entry(record, outputs[i].index);
        entry.frozen = true;
        return ItemResult{Outcome::kDone};
      });
}

Result<std::vector<ItemResult>> Store::unfreeze(std::span<const chain::Outpoint> outputs) {
  return for_each_output(
      *impl_, outputs,
      [&](Workspace& work, Record& record, Entry& entry, std::size_t i) -> Result<ItemResult> {
        if (!entry.frozen) return ItemResult{Outcome::kNotFrozen};
        std::erase(TRY(work.mark(record.head.id))->frozen, outputs[i].index);
        work.touch_entry(record, outputs[i].index);
        entry.frozen = false;
        work.restamp(record, work.height());
        return ItemResult{Outcome::kDone};
      });
}

Result<std::vector<ItemResult>> Store::reassign(std::span<const Reassignment> items) {
  std::vector<chain::Outpoint> outputs;
  for (const Reassignment& item : items) outputs.push_back(item.outpoint);
  return for_each_output(
      *impl_, outputs,
      [&](Workspace& work, Record& record, Entry& entry, std::size_t i) -> Result<ItemResult> {
        if (entry.hash != items[i].old_hash) return ItemResult{Outcome::kHashMismatch};
        if (!entry.frozen) return ItemResult{Outcome::kNotFrozen};
        Mark& mark = *TRY(work.mark(record.head.id));
        const std::uint32_t output = outputs[i].index;
        std::erase(mark.frozen, output);
        std::erase_if(mark.reassigned,
                      [&](const Mark::Reassigned& each) { return each.output == output; });
        work.touch_entry(record, output);
        entry.frozen = false;
        entry.hash = items[i].new_hash;
        entry.spendable_at = work.height() + kReassignDelay;
        mark.reassigned.push_back({output, entry.hash, *entry.spendable_at});
        work.restamp(record, work.height());
        return ItemResult{Outcome::kDone};
      });
}

Result<std::vector<ItemResult>> Store::preserve(std::span<const Hash256> ids, std::uint64_t until) {
  return for_each_record(
      *impl_, ids,
      [&](Workspace& work, Record& record, std::size_t) -> Result<ItemResult> {
        if (record.head.preserve_until == until) return ItemResult{Outcome::kUnchanged};
        TRY(work.mark(record.head.id))->preserve_until = until;
        record.head.preserve_until = until;
        work.restamp(record, work.height());
        return ItemResult{Outcome::kDone};
      },
      true);
}

Result<> Store::begin_after(const bus::Position& block) {
  return impl_->run_unit(Hold::kTip, [&](Workspace& work) -> Result<> {
    if (!work.tip().position.at_origin) return fail(Code::kConflict, "the store has begun already");
    work.set_first_block(block);
    work.set_tip(block);
    return {};
  });
}

Result<> Store::advance(const bus::Position& to) {
  return impl_->run_unit(Hold::kTip, [&](Workspace& work) -> Result<> {
    const bus::Position& tip = work.tip().position;
    if (to.at_origin || to.block_count() <= tip.block_count())
      return fail(Code::kInvalidInput, "the store is at height {} and cannot advance to {}",
                  tip.block_count() == 0 ? "Origin" : std::to_string(tip.ordinal.value),
                  to.at_origin ? "Origin" : std::to_string(to.ordinal.value));
    work.set_tip(to);
    return {};
  });
}

Result<CleanupReport> Store::cleanup() {
  CleanupReport report;
  const Result<> done = impl_->run_unit(Hold::kRecords, [&](Workspace& work) {
    report = {};
    return clean_due(work, impl_->backend->records_a_step(), impl_->options.cleanup_budget, report);
  });
  if (!done) return fail(done.error());
  const std::lock_guard lock(impl_->mutex);
  impl_->counters.deleted += report.deleted;
  impl_->counters.kept += report.kept;
  impl_->counters.children_read += report.children_read;
  impl_->counters.marked_final += report.marked_final;
  return report;
}

}  // namespace coffer::txstore
