// Applying and undoing blocks. A connected block is the truth (E1): it takes its inputs from
// whoever holds them, and what lost becomes conflicting, descendants included, in the same unit.
#include <ranges>

#include "base/check.h"
#include "base/result.h"
#include "txstore/operations.h"
#include "txstore/undo.h"

namespace coffer::txstore {
namespace {

class BlockApplier {
 public:
  BlockApplier(Workspace& work, const BlockToApply& todo)
      : work_(work),
        todo_(todo),
        block_(todo.block),
        ref_(BlockRef::of(todo.position)),
        height_(todo.position.ordinal.value) {}

  Result<BlockEffects> apply() {
    TRY(load());
    const bool is_first = work_.tip().position.at_origin;
    if (is_first && !todo_.position.at_origin && height_ != 0)
      work_.set_first_block(todo_.position);
    // Before its first block a store has none to drop, however high that is.
    const std::int64_t final_before =
        is_first ? static_cast<std::int64_t>(height_) : work_.tip().final_height;
    work_.set_tip(todo_.position);
    TRY(resolve_conflicts());
    for (const chain::Tx& tx : block_.txs) TRY(apply_tx(tx));
    TRY(remove_outputs());
    if (todo_.keep_undo) work_.changes().blocks.push_back({todo_.position, encode_undo(undo_)});
    for (std::int64_t height = std::max<std::int64_t>(final_before + 1, 0);
         height <= work_.tip().final_height; ++height)
      work_.changes().dropped_blocks.push_back(static_cast<std::uint64_t>(height));
    Counts& counts = work_.changes().counts;
    counts.overrides += static_cast<std::int64_t>(effects_.overrides);
    counts.parent_missing += static_cast<std::int64_t>(effects_.parent_missing);
    return effects_;
  }

 private:
  // All transactions of the block and all that they spend, in one load.
  Result<> load() {
    std::vector<Hash256> ids(todo_.referrers);
    std::vector<chain::Outpoint> outputs(todo_.removed.begin(), todo_.removed.end());
    ids.reserve(block_.txs.size() + block_.inputs.size());
    for (const chain::Tx& tx : block_.txs) {
      in_block_.insert(tx.id);
      ids.push_back(tx.id);
      for (const chain::Input& input : block_.spent_by(tx)) outputs.push_back(input.outpoint());
    }
    for (const chain::Outpoint& output : outputs) ids.push_back(output.tx);
    TRY(work_.load(ids));
    TRY(work_.load_entries(outputs));
    return load_new_marks(work_, std::array{&block_});
  }

  // What the block overrules: other spenders of its inputs, transactions that refer to what it
  // spends, and one that it has with another validity.
  Result<> resolve_conflicts() {
    std::vector<Record*> losers;
    std::vector<Hash256> rivals;
    for (const chain::Tx& tx : block_.txs)
      for (const chain::Input& input : block_.spent_by(tx)) {
        const Entry* entry = work_.find_entry(input.outpoint());
        if (entry != nullptr && entry->spent && !entry->removed && entry->spender != tx.id &&
            !in_block_.contains(entry->spender))
          rivals.push_back(entry->spender);
      }
    effects_.overrides += rivals.size();
    TRY(work_.load(rivals));
    for (const Hash256& id : rivals)
      if (Record* rival = work_.find(id)) losers.push_back(rival);
    for (const Hash256& id : todo_.referrers) {
      Record* referrer = work_.find(id);
      if (referrer != nullptr && referrer->head.state == State::kUnmined && !in_block_.contains(id))
        losers.push_back(referrer);
    }
    for (const chain::Tx& tx : block_.txs) {
      Record* known = work_.find(tx.id);
      if (known != nullptr && known->head.valid != tx.valid) losers.push_back(known);
    }
    effects_.conflicted += TRY(mark_conflicting(work_, std::move(losers), height_));
    return {};
  }

  Result<> apply_tx(const chain::Tx& tx) {
    undo_.txs.push_back({tx.id, {}});
    Record* record = work_.find(tx.id);
    if (record == nullptr) {
      record = &create_record(work_, new_tx(block_, tx, ref_), height_);
      TRY(forget_lock(work_, tx.id));
    } else {
      TRY(take_over(*record, tx));
    }
    take_inputs_by_force(*record);
    return {};
  }

  // A record that is there already: from the mempool, from another branch, or by a repeated id.
  Result<> take_over(Record& record, const chain::Tx& tx) {
    StoredTx& head = record.head;
    NewTx made = new_tx(block_, tx, ref_);
    Record* list[] = {&record};
    TRY(work_.load_inputs(list));
    if (head.on_longest_chain()) {
      // Ids repeat where two coinbases are equal (U4): both heights, and fresh outputs.
      TRY(work_.load_all_pages(list));
      for (const Page& page : record.pages)
        undo_.txs.back().replaced.insert(undo_.txs.back().replaced.end(), page.entries.begin(),
                                         page.entries.end());
      forget_final_entries(record);
      reset_outputs(work_, record, made);
    } else if (head.valid != made.valid) {
      TRY(work_.load_all_pages(list));
      head.valid = made.valid;
      record.inputs = made.inputs;
      record.input_count = static_cast<std::uint32_t>(made.inputs.size());
      reset_outputs(work_, record, made);
      TRY(replace_body(record, std::move(made)));
    } else {
      // The same id with other witnesses is no conflict; the block's bytes win (X9). And a parent
      // may be known now that was not when the transaction was seen.
      const TxBody stored = TRY(work_.body(record));
      const bool knows_more = std::ranges::any_of(stored.inputs, [&](const StoredInput& input) {
        return !input.amount && work_.find_entry(input.outpoint) != nullptr;
      });
      if (stored.raw != made.raw || knows_more) TRY(replace_body(record, std::move(made)));
    }
    if (head.state == State::kConflicting) {
      work_.touch(record);
      head.state = State::kUnmined;
      head.delete_at_height.reset();
    }
    if (head.locked) {
      ++effects_.overrides;
      TRY(forget_lock(work_, head.id));
    }
    (void)set_mined(work_, record, ref_, true, height_);
    return {};
  }

  Result<> replace_body(Record& record, NewTx made) {
    work_.touch(record);
    TxBody& body = record.new_body.emplace();
    for (const chain::Outpoint& input : made.inputs) {
      const Entry* entry = work_.find_entry(input);
      body.inputs.push_back(
          {input, entry == nullptr ? std::nullopt : std::optional(entry->amount)});
    }
    body.fee = fee_of(made, body.inputs);
    body.raw = std::move(made.raw);
    record.body_bytes = body.raw.size();
    return {};
  }

  void forget_final_entries(Record& record) {
    for (const Page& page : record.pages)
      for (const Entry& entry : page.entries)
        if (entry.final) {
          --work_.changes().counts.final_entries;
          work_.changes().unpruned.push_back({entry.spender, record.head.id});
        }
  }

  void take_inputs_by_force(Record& record) {
    for (std::uint32_t i = 0; i < record.inputs.size(); ++i) {
      const chain::Outpoint& outpoint = record.inputs[i];
      Record* parent = nullptr;
      Entry* entry = work_.find_entry(outpoint, &parent);
      if (entry == nullptr || entry->unspendable) {
        // Older than the store, or lost.
        if (!work_.tip().first_block) ++effects_.parent_missing;
        continue;
      }
      const bool held = entry->spent && entry->spender == record.head.id &&
                        entry->spender_input == i && !entry->final;
      if (held) continue;
      if (entry->spent) {
        ++effects_.overrides;
        work_.mark_unspent(*parent, outpoint.index);
      }
      if (parent->head.locked || entry->frozen) ++effects_.overrides;
      work_.mark_spent(*parent, outpoint.index, record.head.id, i);
      work_.restamp(*parent, height_);
    }
  }

  Result<> remove_outputs() {
    for (const chain::Outpoint& outpoint : todo_.removed) {
      Record* parent = nullptr;
      Entry* entry = work_.find_entry(outpoint, &parent);
      if (entry == nullptr || entry->spent || entry->unspendable) continue;
      work_.mark_spent(*parent, outpoint.index, Hash256{}, 0);
      entry->removed = true;
      work_.restamp(*parent, height_);
      undo_.removed.push_back(outpoint);
      ++effects_.removed;
    }
    return {};
  }

  Workspace& work_;
  const BlockToApply& todo_;
  const chain::Block& block_;
  const BlockRef ref_;
  const std::uint64_t height_;
  std::unordered_set<Hash256, HashOfHash> in_block_;
  UndoData undo_;
  BlockEffects effects_;
};

// The outputs that it had before a block with the same id came (U4).
void restore_outputs(Workspace& work, Record& record, std::vector<Entry> entries) {
  work.touch(record);
  StoredTx& head = record.head;
  head.outputs = static_cast<std::uint32_t>(entries.size());
  head.spendable = head.spent = 0;
  record.pages.assign(Record::pages_of(head.outputs), Page());
  record.replaced = record.stored;
  for (std::uint32_t i = 0; i < head.outputs; ++i) {
    const Entry& entry = entries[i];
    head.spendable += entry.unspendable ? 0 : 1;
    head.spent += entry.spent ? 1 : 0;
    if (entry.final) {
      ++work.changes().counts.final_entries;
      work.changes().pruned.push_back({entry.spender, head.id});
    }
    Page& page = record.pages[Record::page_of(i)];
    page.entries.push_back(entry);
    page.dirty = true;
  }
}

}  // namespace

Result<> load_new_marks(Workspace& work, std::span<const chain::Block* const> blocks) {
  std::vector<Hash256> ids;
  for (const chain::Block* block : blocks)
    for (const chain::Tx& tx : block->txs)
      if (work.find(tx.id) == nullptr) ids.push_back(tx.id);
  return work.load_marks(ids);
}

Result<BlockEffects> apply_block(Workspace& work, const BlockToApply& block) {
  return BlockApplier(work, block).apply();
}

Result<UndoneBlock> undo_block(Workspace& work, const bus::Position& before) {
  const bus::Position tip = work.tip().position;
  const auto stored = TRY(work.block(tip.ordinal.value));
  if (!stored || !(stored->position == tip))
    return fail(Code::kCorrupt, "block {} has no undo data; run 'coffer tx rebuild'",
                tip.ordinal.value);
  UndoData undo = TRY(decode_undo(stored->undo));
  UndoneBlock done;
  std::vector<chain::Outpoint> outputs(undo.removed);
  for (const UndoData::Tx& tx : undo.txs) done.ids.push_back(tx.id);
  std::vector<Hash256> ids(done.ids);
  for (const chain::Outpoint& outpoint : outputs) ids.push_back(outpoint.tx);
  TRY(work.load(ids));
  TRY(work.load_entries(outputs));
  work.set_tip(before);
  const std::uint64_t height = work.height();
  const BlockRef ref = BlockRef::of(tip);
  for (UndoData::Tx& tx : undo.txs | std::views::reverse) {
    Record* record = work.find(tx.id);
    if (record == nullptr)
      return fail(Code::kCorrupt,
                  "a transaction of block {} is not stored; run 'coffer tx rebuild'",
                  tip.ordinal.value);
    if (!tx.replaced.empty()) {
      Record* list[] = {record};
      TRY(work.load_all_pages(list));
      restore_outputs(work, *record, std::move(tx.replaced));
    }
    (void)TRY(unset_mined(work, *record, ref, height));
  }
  for (const chain::Outpoint& outpoint : undo.removed) {
    Record* parent = work.find(outpoint.tx);
    if (parent == nullptr) continue;
    work.mark_unspent(*parent, outpoint.index);
    work.restamp(*parent, height);
    done.restored_removed = true;
  }
  work.drop_block(tip.ordinal.value);
  return done;
}

}  // namespace coffer::txstore
