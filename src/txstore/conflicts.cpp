// Transactions that lost to another. A conflicting one holds no spend and has no spender: both are
// undone when it is marked, for all descendants, in the same unit.
#include "base/check.h"
#include "base/result.h"
#include "txstore/operations.h"

namespace coffer::txstore {

Result<std::uint64_t> mark_conflicting(Workspace& work, std::vector<Record*> roots,
                                       std::uint64_t height) {
  std::uint64_t marked = 0;
  std::vector<Record*> generation = std::move(roots);
  while (!generation.empty()) {
    std::erase_if(generation, [](const Record* r) { return r->head.state == State::kConflicting; });
    TRY(work.load_all_pages(generation));
    TRY(work.load_parents(generation));
    std::vector<Hash256> spenders;
    for (Record* record : generation) {
      if (record->head.state == State::kConflicting) continue;  // twice in this generation
      work.touch(*record);
      record->head.state = State::kConflicting;
      record->head.delete_at_height.reset();  // of another state: it is stamped anew
      // A block that the chain overruled, if any.
      for (MinedIn& in : record->head.blocks) in.on_longest_chain = false;
      for (const Page& page : record->pages)
        for (const Entry& entry : page.entries)
          if (entry.spent && !entry.removed) spenders.push_back(entry.spender);
      (void)release_inputs(work, *record, height);
      work.restamp(*record, height);
      ++marked;
    }
    TRY(work.load(spenders));
    generation.clear();
    for (const Hash256& id : spenders)
      if (Record* child = work.find(id)) generation.push_back(child);
  }
  return marked;
}

Result<ItemResult> unmark_conflicting(Workspace& work, Record& record, std::uint64_t height) {
  if (record.head.state != State::kConflicting) return ItemResult{Outcome::kUnchanged};
  Record* list[] = {&record};
  TRY(work.load_parents(list));
  const SpendResult taken = take_inputs(work, record, {}, height);
  if (taken.outcome != Outcome::kDone && taken.outcome != Outcome::kUnchanged) {
    for (const ItemResult& item : taken.inputs)
      if (item.outcome == taken.outcome) return item;
  }
  work.touch(record);
  record.head.state = State::kUnmined;
  record.head.unmined_since = record.head.absent_since = work.height();
  work.restamp(record, height);
  return ItemResult{Outcome::kDone};
}

}  // namespace coffer::txstore
