// The store as a consumer of blocks and of the mempool. A commit holds whole blocks with the new
// tip (E2); cleanup runs after it, on what is committed, in steps of their own.
#include <coffer/base/log.h>
#include <coffer/chain/decode.h>
#include "base/check.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "txstore/consumer_impl.h"

namespace coffer::txstore {
namespace {

constexpr std::size_t kUnminedAStep = 1'000;
constexpr std::uint8_t kAllegraEra = 3;

}  // namespace

Consumer::Consumer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Consumer::~Consumer() = default;

Result<std::unique_ptr<Consumer>> Consumer::open(Store& store) {
  auto impl = std::make_unique<Impl>(store);
  TRY(impl->open());
  return std::unique_ptr<Consumer>(new Consumer(std::move(impl)));
}

Result<> Consumer::Impl::open() {
  TRY(mark_absent());
  if (impl.network.family != chain::Family::kCardano) return {};
  std::optional<DueEntry> after;
  for (;;) {
    const std::vector<Hash256> ids = TRY(next_unmined(after));
    if (ids.empty()) return {};
    TRY(index_references(ids));
  }
}

Result<std::vector<Hash256>> Consumer::Impl::next_unmined(std::optional<DueEntry>& after) {
  const auto entries = TRY(impl.read<std::vector<DueEntry>>(
      [&](View& view) { return view.unmined(after, kUnminedAStep); }));
  std::vector<Hash256> ids;
  ids.reserve(entries.size());
  for (const DueEntry& entry : entries) ids.push_back(entry.id);
  if (!entries.empty()) after = entries.back();
  return ids;
}

// What is in the mempool is not known until the source tells: until then all are absent, as of now.
Result<> Consumer::Impl::mark_absent() {
  std::optional<DueEntry> after;
  for (;;) {
    const std::vector<Hash256> ids = TRY(next_unmined(after));
    if (ids.empty()) return {};
    const Result<> marked = impl.run_unit(Hold::kRecords, [&](Workspace& work) -> Result<> {
      TRY(work.load(ids));
      for (const Hash256& id : ids) {
        Record* record = work.find(id);
        if (record == nullptr || record->head.state != State::kUnmined || record->head.absent_since)
          continue;
        record->head.absent_since = work.height();
        work.restamp(*record, work.height());
      }
      return {};
    });
    if (!marked) return marked;
  }
}

Result<> Consumer::Impl::index_references(std::span<const Hash256> ids) {
  chain::Block block;
  return impl.backend->read([&](View& view) -> Result<> {
    for (const Hash256& id : ids) {
      const auto body = view.body(id);
      if (!body && body.error().code == Code::kNotFound) continue;
      if (!body) return fail(body.error());
      block.clear();
      TRY(chain::decode_tx_into(block, impl.network, body->raw, {.hash = true, .verify = false}));
      references.add(block);
    }
    return {};
  });
}

bus::Position Consumer::position() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->position;
}

bool Consumer::can_wait() const {
  return impl_->impl.backend->can_wait();
}

Result<> Consumer::probe() {
  TRY(flush());
  return impl_->impl.backend->read([](View&) -> Result<> { return {}; });
}

Result<> Consumer::on_block(const bus::BlockApplied& block) {
  Impl& self = *impl_;
  if (self.policy.must_commit_before(self.held_size, block)) TRY(self.commit());
  // What failed is tried again with the same block: the cleanup after it, or its commit.
  if (self.held.empty() && self.committed == block.position())
    return self.clean(impl_->impl.options.cleanup_budget);
  if (self.held.empty() || !(self.held.back().ordinal == block.ordinal)) {
    self.held.push_back(block);
    self.held_txs += block.block->txs.size();
    self.held_size = {self.held_size.blocks + 1, self.held_size.bytes + block.block->raw.size(),
                      self.policy.is_below_window(block)};
  }
  {
    const std::lock_guard lock(self.mutex);
    self.position = block.position();
  }
  if (!self.policy.must_commit_after(self.held_size, block)) return {};
  const std::uint64_t work = 2 * self.held_txs + impl_->impl.options.cleanup_budget;
  TRY(self.commit());
  return self.clean(work);
}

Result<> Consumer::flush() {
  TRY(impl_->commit());
  return impl_->clean(std::numeric_limits<std::uint64_t>::max());
}

// The unspent redeem outputs of the genesis go with the first Allegra block (U6).
std::span<const chain::Outpoint> Consumer::Impl::removed_by(const chain::Block& block) {
  if (redeem_removed || block.family != chain::Family::kCardano || block.era < kAllegraEra)
    return {};
  return impl.redeem_outputs;
}

Result<> Consumer::Impl::check_tip(const Workspace& work) {
  led_elsewhere = !(work.tip().position == committed);
  if (!led_elsewhere) return {};
  return fail(
      Error{Code::kUnavailable, false,
            "another process has led the transaction store elsewhere; going on from there"});
}

void Consumer::Impl::adopt_tip() {
  const auto tip = impl.read<Tip>([](View& view) -> Result<Tip> { return view.tip(); });
  if (!tip) return;  // asked again when the database is back
  held.clear();
  held_txs = 0;
  held_size = {};
  committed = tip->position;
  const std::lock_guard lock(mutex);
  position = committed;
}

// What all blocks of a commit touch, in one load: sorted over many blocks, neighbours in the
// database are read together.
Result<> Consumer::Impl::load_held(Workspace& work) {
  if (held.size() < 2) return {};
  std::size_t count = 0;
  for (const bus::BlockApplied& event : held)
    count += event.block->txs.size() + event.block->inputs.size();
  std::vector<Hash256> ids;
  ids.reserve(count);
  std::vector<const chain::Block*> blocks;
  blocks.reserve(held.size());
  for (const bus::BlockApplied& event : held) {
    const chain::Block& block = *event.block;
    blocks.push_back(&block);
    for (const chain::Tx& tx : block.txs) {
      ids.push_back(tx.id);
      for (const chain::Input& input : block.spent_by(tx)) ids.push_back(input.outpoint().tx);
    }
  }
  TRY(work.load(ids));
  return load_new_marks(work, blocks);
}

Result<> Consumer::Impl::commit() {
  if (held.empty()) return {};
  const Stopwatch watch;
  bool removed = redeem_removed;
  CleanupReport cleaned;
  const auto applied =
      impl.run<BlockEffects>(Hold::kTip, [&](Workspace& work) -> Result<BlockEffects> {
        TRY(check_tip(work));
        BlockEffects total;
        removed = redeem_removed;
        TRY(load_held(work));
        for (const bus::BlockApplied& event : held) {
          BlockToApply todo{*event.block, event.position(), !policy.is_below_window(event)};
          todo.referrers = references.referrers(*event.block);
          if (!removed) {
            todo.removed = removed_by(*event.block);
            removed = !todo.removed.empty();
          }
          const BlockEffects effects = TRY(apply_block(work, todo));
          total.overrides += effects.overrides;
          total.parent_missing += effects.parent_missing;
          total.conflicted += effects.conflicted;
        }
        cleaned = {};
        if (held.size() > 1 && impl.options.cleanup_budget > 0)
          TRY(clean_due(work, 2 * held_txs + impl.backend->records_a_step(),
                        4 * held_txs + impl.options.cleanup_budget, cleaned));
        return total;
      });
  if (!applied) {
    if (led_elsewhere) adopt_tip();
    return fail(applied.error());
  }
  committed = held.back().position();
  const BlockEffects total = *applied;
  redeem_removed = removed;
  std::vector<Hash256> arrived;
  for (const bus::BlockApplied& event : held)
    for (const chain::Tx& tx : event.block->txs) {
      if (!references.empty()) references.remove(tx.id);
      if (waiting.size() > 0) {
        waiting.remove(tx.id);
        arrived.push_back(tx.id);
      }
    }
  {
    const std::lock_guard lock(impl.mutex);
    impl.counters.blocks += held.size();
    impl.counters.overrides += total.overrides;
    impl.counters.parent_missing += total.parent_missing;
    impl.counters.conflicted += total.conflicted;
    impl.counters.deleted += cleaned.deleted;
    impl.counters.kept += cleaned.kept;
    impl.counters.children_read += cleaned.children_read;
    impl.counters.marked_final += cleaned.marked_final;
    impl.counters.apply_seconds += static_cast<double>(watch.micros()) / 1e6;
  }
  if (total.parent_missing > 0)
    log::warn("a block spends outputs of transactions that are not stored",
              {{"inputs", total.parent_missing}, {"next", "run 'coffer tx verify'"}});
  held.clear();
  held_txs = 0;
  held_size = {};
  cleanup_due = true;
  return see_waiting(std::move(arrived));
}

// A newer block supersedes the pass. Each pass does more than the blocks before it brought, so that
// a busy chain is never behind for long.
Result<> Consumer::Impl::clean(std::uint64_t work) {
  if (!cleanup_due) return {};
  const Stopwatch watch;
  for (std::uint64_t looked_at = 0; cleanup_due && looked_at < work;) {
    const CleanupReport report = TRY(store.cleanup());
    looked_at += std::max<std::uint64_t>(1, report.looked_at);
    cleanup_due = !report.done;
  }
  const std::lock_guard lock(impl.mutex);
  impl.counters.cleanup_seconds += static_cast<double>(watch.micros()) / 1e6;
  return {};
}

Result<> Consumer::on_rollback(const bus::RolledBack& rollback) {
  TRY(impl_->commit());
  TRY(impl_->roll_back(rollback.to));
  const std::lock_guard lock(impl_->mutex);
  impl_->position = rollback.to;
  return {};
}

Result<> Consumer::Impl::roll_back(const bus::Position& to) {
  const Stopwatch watch;
  const auto rolled =
      impl.run<UndoneBlock>(Hold::kTip, [&](Workspace& work) -> Result<UndoneBlock> {
        TRY(check_tip(work));
        UndoneBlock all;
        const Tip& tip = work.tip();
        const std::int64_t target = to.at_origin ? -1 : static_cast<std::int64_t>(to.ordinal.value);
        if (to.block_count() >= tip.position.block_count()) return all;
        if (target < tip.final_height || (to.at_origin && tip.first_block))
          return fail(
              Code::kBeyondWindow,
              "a rollback to height {} is below the final height {}: transactions below it may "
              "be deleted; run 'coffer tx rebuild'",
              target, tip.final_height);
        while (work.tip().position.block_count() > to.block_count()) {
          const std::uint64_t height = work.tip().position.ordinal.value;
          const auto& first = work.tip().first_block;
          if (first && height <= first->ordinal.value && !TRY(work.block(height))) {
            work.set_tip(to);  // it has nothing of this block and of those before it
            break;
          }
          bus::Position before = to;
          if (height > to.block_count()) {
            const auto previous = TRY(work.block(height - 1));
            if (previous) {
              before = previous->position;
            } else if (!first || height - 1 > first->ordinal.value) {
              return fail(Code::kBeyondWindow,
                          "the undo data of block {} are not kept; run 'coffer tx rebuild'",
                          height - 1);
            }
          }
          const UndoneBlock undone = TRY(undo_block(work, before));
          all.ids.insert(all.ids.end(), undone.ids.begin(), undone.ids.end());
          all.restored_removed |= undone.restored_removed;
        }
        if (work.tip().first_block && work.tip().first_block->ordinal > to.ordinal)
          work.set_first_block(to);
        return all;
      });
  if (!rolled) {
    if (led_elsewhere) adopt_tip();
    return fail(rolled.error());
  }
  committed = to;
  if (rolled->restored_removed) redeem_removed = false;
  if (impl.network.family == chain::Family::kCardano) TRY(index_references(rolled->ids));
  cleanup_due = true;
  const std::lock_guard lock(impl.mutex);
  ++impl.counters.rollbacks;
  impl.counters.rollback_seconds += static_cast<double>(watch.micros()) / 1e6;
  return {};
}

Result<std::optional<bus::Position>> Consumer::newest_block_below(
    std::uint64_t below_height) const {
  return impl_->impl.read<std::optional<bus::Position>>(
      [&](View& view) { return view.block_below(below_height); });
}

}  // namespace coffer::txstore
