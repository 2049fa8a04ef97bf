#include "txstore/support/damage_cases.h"

#include <algorithm>

#include "txstore/undo.h"

namespace coffer::txstore::test {
namespace {

Changes with_block(BlockUndo block) {
  Changes changes;
  changes.blocks.push_back(std::move(block));
  return changes;
}

BlockUndo with_undo(BlockUndo block, const std::function<void(UndoData&)>& change) {
  UndoData undo = get_value(decode_undo(block.undo));
  change(undo);
  block.undo = encode_undo(undo);
  return block;
}

DamageCase wrong_count(const char* name, std::int64_t Counts::* count) {
  return {name, "counts of the store", [count](DamagedStore& store) {
            Changes changes;
            changes.counts.*count = 1;
            store.save(std::move(changes));
          }};
}

using Damaged = DamagedStore&;

std::vector<DamageCase> entry_cases() {
  const auto young = [](Damaged store) {
    return [&store](const Record&, const Entry& entry) { return store.has_young_child(entry); };
  };
  return {
      {"ParentRemoved", "its parent .* is not",
       [](Damaged store) {
         store.erase(store.pick([&](const Record& record) {
           if (record.input_count > 0 || record.pages.size() != 1 || !store.is_final(record))
             return false;
           const auto& entries = record.pages[0].entries;
           return std::none_of(entries.begin(), entries.end(),
                               [](const Entry& entry) { return entry.final; }) &&
                  std::any_of(entries.begin(), entries.end(),
                              [&](const Entry& entry) { return store.has_young_child(entry); });
         }));
       }},
      {"ChildRemoved", "which is not stored",
       [](Damaged store) {
         store.erase(store.pick([&](const Record& record) {
           return record.head.state == State::kMined && !store.is_final(record) &&
                  record.head.spent == 0 && !record.head.coinbase;
         }));
       }},
      {"EntryNamesAnother", "does not spend it|does not hold its input",
       [=](Damaged store) {
         auto [record, entry] = store.pick_entry(young(store));
         const Hash256 child = entry->spender;
         entry->spender = store
                              .pick([&](const Record& other) {
                                return other.head.id != child && other.head.id != record.head.id &&
                                       other.head.state == State::kMined;
                              })
                              .head.id;
         store.save(store.picked());
       }},
      {"EntryNamesAnotherInput", "does not spend it",
       [=](Damaged store) {
         auto [record, entry] = store.pick_entry(young(store));
         ++entry->spender_input;
         store.save(store.picked());
       }},
      {"EntryNotSpent", "does not hold its input",
       [](Damaged store) {
         auto [record, entry] = store.pick_entry([&](const Record& each, const Entry& output) {
           return !each.head.delete_at_height && store.has_young_child(output);
         });
         entry->spent = false;
         entry->spender = {};
         entry->spender_input = 0;
         --store.picked().head.spent;
         store.save(store.picked());
       }},
      {"EntrySpentByNobody", "which is not stored",
       [](Damaged store) {
         auto [record, entry] = store.pick_entry([&](const Record& each, const Entry& output) {
           return each.head.unspent() > 1 && !output.spent && !output.unspendable;
         });
         entry->spent = true;
         entry->spender.fill(0x77);
         ++store.picked().head.spent;
         store.save(store.picked());
       }},
      {"EntryFinalTooEarly", "can still be undone",
       [=](Damaged store) {
         auto [record, entry] = store.pick_entry(young(store));
         entry->final = true;
         Counts counts;
         counts.final_entries = 1;
         store.save(store.picked(), counts);
       }},
      {"EntryNotFinal", "which is not stored",
       [](Damaged store) {
         auto [record, entry] = store.pick_entry([&](const Record&, const Entry& output) {
           return output.final && store.find(output.spender) == nullptr;
         });
         entry->final = false;
         Counts counts;
         counts.final_entries = -1;
         store.save(store.picked(), counts);
       }},
      {"EntryFinalAndUnspent", "is final and unspent",
       [](Damaged store) {
         auto [record, entry] = store.pick_entry([&](const Record& each, const Entry& output) {
           return each.head.unspent() > 0 && !output.spent && !output.unspendable;
         });
         entry->final = true;
         Counts counts;
         counts.final_entries = 1;
         store.save(store.picked(), counts);
       },
       true},
  };
}

std::vector<DamageCase> head_cases() {
  const auto stamped = [](const Record& record) {
    return record.head.state == State::kMined && record.head.delete_at_height.has_value();
  };
  const auto unstamped = [](const Record& record) {
    return record.head.state == State::kMined && !record.head.due_at && record.head.spent > 0;
  };
  const auto change = [](auto fits, auto how) {
    return [=](Damaged store) {
      Record record = store.pick(fits);
      how(store, record.head);
      store.save(std::move(record));
    };
  };
  return {
      {"SpentCountWrong", "counts .* spent outputs",
       change(unstamped, [](Damaged, StoredTx& tx) { --tx.spent; })},
      {"SpendableCountWrong", "counts .* spent outputs",
       change(unstamped, [](Damaged, StoredTx& tx) { --tx.spendable; })},
      {"StampMissing", "should have one",
       change(stamped,
              [](Damaged, StoredTx& tx) {
                tx.delete_at_height.reset();
                tx.due_at.reset();
              })},
      {"StampTooMuch", "should not have one",
       change(unstamped,
              [](Damaged store, StoredTx& tx) {
                tx.delete_at_height = tx.due_at = store.tip().height() + 3;
              })},
      {"DueHeightMissing", "never be looked at",
       change(stamped, [](Damaged, StoredTx& tx) { tx.due_at.reset(); })},
      {"DueHeightTooMuch", "without a reason",
       change(unstamped,
              [](Damaged store, StoredTx& tx) { tx.due_at = store.tip().height() + 3; })},
      {"DueBeforeStamp", "before its delete_at_height",
       change(stamped, [](Damaged, StoredTx& tx) { tx.due_at = *tx.delete_at_height - 1; })},
      {"StampBeforeOwnBlock", "before its own block",
       change(stamped,
              [](Damaged, StoredTx& tx) {
                tx.delete_at_height = tx.due_at = *tx.highest_height() - 1;
              })},
      {"UnminedHeightMissing", "since when it is unmined",
       change([](const Record& record) { return record.head.state == State::kUnmined; },
              [](Damaged, StoredTx& tx) { tx.unmined_since.reset(); })},
      {"StateAndBlocksDiffer", "does not follow from its blocks",
       [=](Damaged store) {
         Record record = store.pick(unstamped);
         record.head.state = State::kUnmined;
         record.head.unmined_since = store.tip().height();
         Counts counts;
         counts.unmined = 1;
         store.save(std::move(record), counts);
       },
       true},
      {"ConflictingWithChildren", "conflicting",
       [](Damaged store) {
         Record record = store.pick([&](const Record& each) {
           return each.head.state == State::kUnmined && each.input_count > 0;
         });
         record.head.state = State::kConflicting;
         record.head.unmined_since.reset();
         record.head.absent_since.reset();
         record.head.delete_at_height = record.head.due_at = store.tip().height() + 3;
         Counts counts;
         counts.unmined = -1;
         counts.conflicting = 1;
         store.save(std::move(record), counts);
       }},
  };
}

std::vector<DamageCase> index_cases() {
  constexpr bool kRocksOnly = true;
  const auto without = [](const char* column) {
    return [column](Damaged store) { store.remove(column, store.first_key(column)); };
  };
  // The same key with another height before it.
  const auto with_more = [](const char* column) {
    return [column](Damaged store) {
      Bytes key = store.first_key(column);
      store_be64(key.data(), load_be64(key.data()) + 100);
      store.put(column, key);
    };
  };
  return {
      {"DueKeyMissing", "due entries", without("tx_due"), kRocksOnly},
      {"DueKeyTooMuch", "due entries", with_more("tx_due"), kRocksOnly},
      {"UnminedKeyMissing", "unmined entries", without("tx_unmined"), kRocksOnly},
      {"UnminedKeyTooMuch", "unmined entries", with_more("tx_unmined"), kRocksOnly},
      {"PrunedKeyMissing", "only its parent", without("tx_pruned"), kRocksOnly},
      {"PrunedKeyTooMuch", "no entry of", with_more("tx_pruned"), kRocksOnly},
      {"BodyMissing", "without its body", without("tx_body"), kRocksOnly},
  };
}

std::vector<DamageCase> block_cases() {
  const auto drop = [](std::uint64_t below_tip) {
    return [below_tip](Damaged store) {
      Changes changes;
      changes.dropped_blocks = {store.tip().height() - below_tip};
      store.save(std::move(changes));
    };
  };
  const auto change_undo = [](auto how) {
    return [how](Damaged store) {
      const BlockUndo& block = store.blocks().at(store.blocks().size() - 3);
      store.save(with_block(with_undo(block, [&](UndoData& undo) { how(store, undo); })));
    };
  };
  return {
      {"BlockListMissing", "the list of block", drop(3)},
      {"NewestBlockListMissing", "the list of block", drop(0)},
      {"BlockListNamesForeign", "which does not say so",
       change_undo([](Damaged store, UndoData& undo) {
         const Record other =
             store.pick([&](const Record& record) { return store.is_final(record); });
         undo.txs.push_back({other.head.id, {}});
       })},
      {"BlockListNamesUnknown", "which does not say so",
       change_undo([](Damaged, UndoData& undo) { undo.txs.emplace_back().id.fill(0x55); })},
      {"BlockListTooShort", "say that they are in it",
       change_undo([](Damaged, UndoData& undo) { undo.txs.pop_back(); })},
      {"BlockListUnreadable", "undo data of a block are damaged",
       [](Damaged store) {
         BlockUndo block = store.blocks().back();
         block.undo.pop_back();
         store.save(with_block(block));
       }},
  };
}

std::vector<DamageCase> count_cases() {
  std::vector<DamageCase> cases = {
      wrong_count("RecordsWrong", &Counts::records),
      wrong_count("BytesWrong", &Counts::bytes),
      wrong_count("UnminedWrong", &Counts::unmined),
      wrong_count("ConflictingWrong", &Counts::conflicting),
      wrong_count("FinalEntriesWrong", &Counts::final_entries),
  };
  cases.push_back(
      {"KeptWrong", "counts of the store", [](Damaged store) {
         Changes changes;
         changes.counts.kept[static_cast<std::size_t>(retention::Reason::kChildNotFinal)] = 1;
         store.save(std::move(changes));
       }});
  return cases;
}

}  // namespace

std::vector<DamageCase> damage_cases() {
  std::vector<DamageCase> all;
  for (const auto& cases :
       {entry_cases(), head_cases(), index_cases(), block_cases(), count_cases()})
    all.insert(all.end(), cases.begin(), cases.end());
  return all;
}

}  // namespace coffer::txstore::test
