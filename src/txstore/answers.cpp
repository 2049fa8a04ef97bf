// Questions about what is stored. Each is answered from one moment of the database.
#include <map>

#include <fmt/format.h>

#include "base/result.h"
#include "txstore/facts.h"
#include "txstore/store_impl.h"

namespace coffer::txstore {
namespace {

constexpr std::size_t kMostListed = 1'000;
constexpr std::size_t kMostExamined = 20'000;  // entries that one request looks at (E11)
constexpr std::size_t kCursorBytes = 40;

// The records of these ids; one that is not stored is not present.
class LoadedRecords {
 public:
  Result<> load(View& view, std::vector<Hash256> ids) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::vector<Record*> wanted;
    for (const Hash256& id : ids) {
      if (by_id_.contains(id)) continue;
      Record& record = by_id_[id];
      record.head.id = id;
      wanted.push_back(&record);
    }
    return wanted.empty() ? Result<>() : view.load(wanted);
  }
  Record* find(const Hash256& id) {
    const auto found = by_id_.find(id);
    return found == by_id_.end() || !found->second.present ? nullptr : &found->second;
  }

 private:
  std::map<Hash256, Record> by_id_;
};

Result<> load_pages(View& view, Record& record, std::uint32_t first, std::uint32_t last) {
  std::vector<PageRef> pages;
  for (std::uint32_t page = first; page <= last && page < record.pages.size(); ++page)
    if (record.pages[page].entries.empty()) pages.push_back({&record, page});
  return pages.empty() ? Result<>() : view.load_pages(pages);
}

// The verdict on one record at the view's tip, and the child that decided.
struct Judged {
  retention::Verdict verdict;
  std::optional<Hash256> child;
};

Result<Judged> judge(View& view, LoadedRecords& records, Record& record,
                     const retention::Window& window) {
  retention::Judge judge(tx_facts(record.head), window);
  if (!judge.needs_outputs()) return Judged{judge.verdict(), std::nullopt};
  TRY(load_pages(view, record, 0, Record::pages_of(record.head.outputs)));
  std::vector<Hash256> children;
  for (std::uint32_t i = 0; i < record.head.outputs; ++i) {
    const Entry& entry = record.entry(i);
    if (entry.spent && !entry.final && !entry.removed) children.push_back(entry.spender);
  }
  TRY(records.load(view, std::move(children)));
  for (std::uint32_t i = 0; i < record.head.outputs; ++i) {
    const Entry& entry = record.entry(i);
    const retention::ChildFacts child = child_facts(records.find(entry.spender));
    judge.add(i, output_facts(entry, &child));
  }
  Judged judged{judge.verdict(), std::nullopt};
  if (judged.verdict.output) {
    const Entry& entry = record.entry(*judged.verdict.output);
    if (entry.spent) judged.child = entry.spender;
  }
  return judged;
}

retention::Window window_at(const Options& options, const Tip& tip) {
  return {options.window, {tip.height(), tip.final_height}};
}

// Of those that are due and kept, as far as one request looks.
Result<std::uint64_t> oldest_overdue(View& view, const Counts& counts) {
  std::int64_t kept = 0;
  for (const std::int64_t count : counts.kept) kept += count;
  if (kept == 0) return 0;
  std::vector<Hash256> ids;
  for (const DueEntry& entry : TRY(view.due(std::nullopt, kMostListed))) ids.push_back(entry.id);
  LoadedRecords records;
  TRY(records.load(view, ids));
  std::uint64_t oldest = 0;
  for (const Hash256& id : ids) {
    const Record* record = records.find(id);
    if (record == nullptr || record->head.kept == retention::Reason::kDeletable) continue;
    const std::uint64_t due = record->head.delete_at_height.value_or(view.tip().height());
    if (due < view.tip().height()) oldest = std::max(oldest, view.tip().height() - due);
  }
  return oldest;
}

Error not_stored() {
  return make_error(Code::kNotFound, "the transaction is not stored");
}

// height ‖ id, in hex.
std::string to_cursor(const DueEntry& entry) {
  Bytes bytes;
  append_be64(bytes, entry.height);
  append(bytes, entry.id.view());
  return to_hex(bytes);
}

Result<std::optional<DueEntry>> from_cursor(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto bytes = from_hex(text);
  if (!bytes || bytes->size() != kCursorBytes)
    return fail(Code::kInvalidInput, "this is no cursor of an earlier page");
  return DueEntry{load_be64(bytes->data()), Hash256::from(bytes->data() + 8)};
}

}  // namespace

Result<std::vector<std::optional<StoredTx>>> Store::get(std::span<const Hash256> ids) const {
  using Found = std::vector<std::optional<StoredTx>>;
  return impl_->read<Found>([&](View& view) -> Result<Found> {
    Found found;
    LoadedRecords records;
    TRY(records.load(view, {ids.begin(), ids.end()}));
    for (const Hash256& id : ids) {
      const Record* record = records.find(id);
      found.push_back(record == nullptr ? std::nullopt : std::optional(record->head));
    }
    return found;
  });
}

Result<Stats> Store::stats() const {
  return impl_->read<Stats>([&](View& view) -> Result<Stats> {
    Stats stats;
    stats.tip = view.tip();
    stats.counts = TRY(view.counts());
    stats.oldest_overdue = TRY(oldest_overdue(view, stats.counts));
    return stats;
  });
}

Result<Explanation> Store::explain(const Hash256& id) const {
  return impl_->read<Explanation>([&](View& view) -> Result<Explanation> {
    Explanation answer;
    LoadedRecords records;
    TRY(records.load(view, {id}));
    Record* record = records.find(id);
    if (record == nullptr) return fail(not_stored());
    const Judged judged = TRY(judge(view, records, *record, window_at(impl_->options, view.tip())));
    answer.tx = record->head;
    answer.verdict = judged.verdict;
    answer.child = judged.child;
    if (!judged.child) return answer;
    if (const Record* child = records.find(*judged.child)) {
      answer.child_state = child->head.state;
      answer.child_height = child->head.highest_height();
    }
    return answer;
  });
}

Result<TxBody> Store::body(const Hash256& id) const {
  return impl_->read<TxBody>([&](View& view) { return view.body(id); });
}

Result<std::vector<StoredOutput>> Store::outputs(const Hash256& id, std::uint32_t first,
                                                 std::uint32_t count) const {
  using Outputs = std::vector<StoredOutput>;
  return impl_->read<Outputs>([&](View& view) -> Result<Outputs> {
    Outputs outputs;
    LoadedRecords records;
    TRY(records.load(view, {id}));
    Record* record = records.find(id);
    if (record == nullptr) return fail(not_stored());
    const std::uint64_t end =
        std::min<std::uint64_t>(record->head.outputs, std::uint64_t{first} + count);
    if (first >= end) return outputs;
    TRY(load_pages(view, *record, Record::page_of(first),
                   Record::page_of(static_cast<std::uint32_t>(end - 1))));
    for (std::uint32_t i = first; i < end; ++i) outputs.push_back(record->entry(i));
    return outputs;
  });
}

Result<Absence> Store::absence(const Hash256& id) const {
  return impl_->read<Absence>([&](View& view) -> Result<Absence> {
    if (TRY(view.is_pruned(id))) return Absence::kPruned;
    return view.tip().first_block ? Absence::kBeforeStart : Absence::kUnknown;
  });
}

Result<Store::ListPage> Store::list(const ListRequest& request) const {
  if (request.count < 1 || request.count > kMostListed)
    return fail(Code::kInvalidInput, "a page holds 1 to {} transactions", kMostListed);
  if (int(request.unmined) + int(request.conflicting) + int(request.kept.has_value()) != 1)
    return fail(Code::kInvalidInput, "list unmined, conflicting or kept transactions");
  const std::optional<DueEntry> after = TRY(from_cursor(request.cursor));
  return impl_->read<ListPage>([&](View& view) -> Result<ListPage> {
    ListPage page;
    if (request.conflicting) {
      std::size_t examined = 0;
      TRY(view.for_each(after ? std::optional(after->id) : std::nullopt,
                        [&](const Record& record) -> Result<bool> {
                          if (record.head.state == State::kConflicting)
                            page.txs.push_back(record.head);
                          if (page.txs.size() < request.count && ++examined < kMostExamined)
                            return true;
                          page.cursor = to_cursor({0, record.head.id});
                          return false;
                        }));
      return page;
    }
    const auto entries = request.unmined ? TRY(view.unmined(after, kMostExamined))
                                         : TRY(view.due(after, kMostExamined));
    LoadedRecords records;
    for (std::size_t at = 0; at < entries.size(); at += request.count) {
      const std::size_t end = std::min(entries.size(), at + request.count);
      std::vector<Hash256> ids;
      for (std::size_t i = at; i < end; ++i) ids.push_back(entries[i].id);
      TRY(records.load(view, std::move(ids)));
      for (std::size_t i = at; i < end; ++i) {
        if (request.older_than && entries[i].height > *request.older_than) return page;
        const Record* record = records.find(entries[i].id);
        if (record == nullptr || (request.kept && record->head.kept != *request.kept)) continue;
        page.txs.push_back(record->head);
        if (page.txs.size() < request.count) continue;
        page.cursor = to_cursor(entries[i]);
        return page;
      }
    }
    if (entries.size() == kMostExamined) page.cursor = to_cursor(entries.back());
    return page;
  });
}

Result<Tip> Store::for_each(const std::function<Result<bool>(const StoredTx&)>& each) const {
  return impl_->read<Tip>([&](View& view) -> Result<Tip> {
    TRY(view.for_each(std::nullopt, [&](const Record& record) { return each(record.head); }));
    return view.tip();
  });
}

Result<CleanupReport> Store::prune(bool dry_run) {
  CleanupReport total;
  if (!dry_run) {
    do total.add(TRY(cleanup()));
    while (!total.done);
    return total;
  }
  return impl_->read<CleanupReport>([&](View& view) -> Result<CleanupReport> {
    CleanupReport report;
    const retention::Window window = window_at(impl_->options, view.tip());
    std::optional<DueEntry> after;
    for (;;) {
      const auto entries = TRY(view.due(after, kMostListed));
      for (const DueEntry& entry : entries) {
        if (entry.height > window.line.tip) return report;
        LoadedRecords records;  // of one transaction at a time: it may have many children
        TRY(records.load(view, {entry.id}));
        Record* record = records.find(entry.id);
        if (record == nullptr) continue;
        ++report.looked_at;
        const bool expires = record->head.preserve_until || record->head.state == State::kUnmined;
        const Judged judged = TRY(judge(view, records, *record, window));
        if (expires) {
          ++report.expired;
        } else if (judged.verdict.is_deletable()) {
          ++report.deleted;
          report.deleted_conflicting += record->head.state == State::kConflicting ? 1 : 0;
        } else {
          ++report.kept;
          ++report.kept_by[static_cast<std::size_t>(judged.verdict.reason)];
        }
      }
      if (entries.size() < kMostListed) return report;
      after = entries.back();
    }
  });
}

std::string dump_line(chain::Family family, const StoredTx& tx) {
  const auto height = [](const std::optional<std::uint64_t>& value) {
    return value ? std::to_string(*value) : std::string();
  };
  return fmt::format("{}|{}|{}|{}|{}|{}", chain::display(family, tx.id), to_string(tx.state),
                     height(tx.highest_height()), height(tx.delete_at_height), tx.unspent(),
                     tx.spent);
}

}  // namespace coffer::txstore
