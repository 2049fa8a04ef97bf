// Safe deletion (X1, X6, X7). The rule is asked inside the unit that deletes, with facts that the
// unit holds. Deleting a transaction and marking its parents' entries final are one change.
#include "base/check.h"
#include "base/result.h"
#include "txstore/facts.h"
#include "txstore/operations.h"

namespace coffer::txstore {
namespace {

// Records whose time has come for something else than deletion.
Result<bool> expire(Workspace& work, Record& record, CleanupReport& report) {
  StoredTx& tx = record.head;
  const std::uint64_t tip = work.height();
  if (tx.preserve_until) {
    if (*tx.preserve_until > tip) return false;
    work.touch(record);
    tx.preserve_until.reset();
    TRY(work.mark(tx.id))->preserve_until.reset();
    work.restamp(record, tip);
    ++report.expired;
    return true;
  }
  if (tx.state == State::kUnmined && tx.absent_since &&
      *tx.absent_since + work.options().unmined_retention <= tip) {
    (void)TRY(mark_conflicting(work, {&record}, tip));
    ++report.expired;
    return true;
  }
  return false;
}

Result<> load_marks(Workspace& work, std::span<Record* const> records) {
  std::vector<Hash256> ids;
  for (const Record* record : records) ids.push_back(record->head.id);
  return work.load_marks(ids);
}

// Its children are no longer needed, and neither are the marks it leaves: a mined one marks its
// parents' entries. A conflicting one leaves no mark; but entries that have one since it was final,
// before the chain overruled it, are marks of a pruned child from now on.
Result<> erase(Workspace& work, std::span<Record* const> records, CleanupReport& report) {
  TRY(work.load_parents(records));
  TRY(load_marks(work, records));
  for (Record* record : records) {
    const bool is_mined = record->head.state == State::kMined;
    for (const chain::Outpoint& input : record->inputs) {
      Record* parent = nullptr;
      const Entry* entry = work.find_entry(input, &parent);
      if (entry == nullptr || !entry->spent || entry->spender != record->head.id) continue;
      if (!is_mined && !entry->final) continue;
      work.mark_final(*parent, input.index);
      work.changes().pruned.push_back({record->head.id, parent->head.id});
      report.marked_final += is_mined ? 1 : 0;
    }
    report.deleted_conflicting += is_mined ? 0 : 1;
    if (work.find_mark(record->head.id) != nullptr) *TRY(work.mark(record->head.id)) = Mark();
    work.erase(*record);
    ++work.changes().counts.deleted;
    ++report.deleted;
  }
  return {};
}

}  // namespace

namespace {

// What outputs and children say of a record, as far as its children are loaded.
struct Judgement {
  retention::Verdict verdict;
  bool complete = true;                      // all children were there to be asked
  std::vector<std::uint32_t> final_outputs;  // whose children were found to be final
};

bool has_open_child(const Entry& entry) {
  return entry.spent && !entry.final && !entry.removed;
}

Judgement judge(Workspace& work, Record& record) {
  Judgement result;
  retention::Judge judge(tx_facts(record.head), work.window());
  for (std::uint32_t i = 0; judge.needs_outputs() && i < record.head.outputs; ++i) {
    const Entry& entry = record.entry(i);
    retention::ChildFacts child;
    if (has_open_child(entry)) {
      const std::optional<Record*> found = work.find_loaded(entry.spender);
      if (!found) {
        result.complete = false;
        continue;
      }
      child = child_facts(*found);
      if (retention::is_final(child, work.window().line)) result.final_outputs.push_back(i);
    }
    judge.add(i, output_facts(entry, &child));
  }
  result.verdict = judge.verdict();
  return result;
}

// The children that must be asked about these, in one load. Returns those of the records that are
// judged now; the others would exceed the budget.
Result<std::vector<Record*>> load_children(Workspace& work, std::span<Record* const> records,
                                           std::uint64_t budget, CleanupReport& report) {
  TRY(work.load_all_pages(records));
  std::vector<Hash256> children;
  std::vector<Record*> now;
  for (Record* record : records) {
    if (!now.empty() && children.size() >= budget) {
      report.done = false;
      continue;
    }
    now.push_back(record);
    for (const Page& page : record->pages)
      for (const Entry& entry : page.entries)
        if (has_open_child(entry) && children.size() < budget) children.push_back(entry.spender);
  }
  report.children_read += children.size();
  TRY(work.load(children));
  return now;
}

}  // namespace

Result<> clean(Workspace& work, std::span<Record* const> records, std::uint64_t budget,
               CleanupReport& report) {
  report.looked_at += records.size();
  const auto is_due = [&](const Record* record) {
    return record->head.due_at && *record->head.due_at <= work.height();
  };
  std::vector<Record*> preserved, unexpired;
  for (Record* record : records)
    if (record->head.preserve_until) preserved.push_back(record);
  TRY(load_marks(work, preserved));
  for (Record* record : records) {
    if (!TRY(expire(work, *record, report)))
      unexpired.push_back(record);
    else if (is_due(record))
      report.done = false;  // preserved until now, and absent for too long already
  }
  // One may have become conflicting with another, or have got an output back: it is due later then,
  // or not at all.
  std::erase_if(unexpired, [&](const Record* record) { return !is_due(record); });
  const std::vector<Record*> judged = TRY(load_children(work, unexpired, budget, report));
  std::vector<Record*> going;
  for (Record* record : judged) {
    const Judgement judgement = judge(work, *record);
    if (judgement.verdict.is_deletable() && judgement.complete) {
      going.push_back(record);
      continue;
    }
    // Each child is read once: what it was found to be is written down.
    for (const std::uint32_t output : judgement.final_outputs) {
      work.mark_final(*record, output);
      ++report.marked_final;
    }
    if (!judgement.complete) {
      report.done = false;  // the due entry stays: the next step goes on
      continue;
    }
    work.set_kept(*record, judgement.verdict);
    ++report.kept;
    ++report.kept_by[static_cast<std::size_t>(judgement.verdict.reason)];
  }
  return erase(work, going, report);
}

Result<ItemResult> remove(Workspace& work, Record& record) {
  CleanupReport report;
  Record* list[] = {&record};
  (void)TRY(load_children(work, list, std::numeric_limits<std::uint64_t>::max(), report));
  if (!judge(work, record).verdict.is_deletable()) return ItemResult{Outcome::kKept};
  TRY(erase(work, list, report));
  return ItemResult{Outcome::kDone};
}

namespace {

// Another process may have deleted what was due, between the reading of the entries and of the
// records, which locks them. Then the entries are gone too.
Result<> check_deleted_meanwhile(Workspace& work, std::span<const Hash256> missing,
                                 std::size_t limit) {
  if (missing.empty()) return {};
  for (const DueEntry& entry : TRY(work.unit().due(work.height(), std::nullopt, limit)))
    if (std::find(missing.begin(), missing.end(), entry.id) != missing.end())
      return fail(Code::kCorrupt,
                  "a due entry names a transaction that is not stored; run 'coffer tx rebuild'");
  return {};
}

}  // namespace

Result<> clean_due(Workspace& work, std::size_t records_a_step, std::uint64_t budget,
                   CleanupReport& report) {
  if (work.tip().position.at_origin) return {};
  const std::size_t limit = std::min<std::size_t>(records_a_step, budget);
  const std::vector<DueEntry> due = TRY(work.unit().due(work.height(), std::nullopt, limit));
  std::vector<Hash256> ids, missing;
  ids.reserve(due.size());
  for (const DueEntry& entry : due) ids.push_back(entry.id);
  TRY(work.load(ids));
  for (const Hash256& id : ids)
    if (work.find(id) == nullptr) missing.push_back(id);
  TRY(check_deleted_meanwhile(work, missing, limit));
  const std::vector<Record*> records = work.find_due();
  if (records.empty()) return {};
  TRY(clean(work, records, budget, report));
  // A change to the one may have made another due that was not.
  if (due.size() == limit || !work.find_due().empty()) report.done = false;
  return {};
}

}  // namespace coffer::txstore
