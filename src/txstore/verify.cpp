// Whether the store is what its header says. Everything is derived again from the entries.
#include <map>
#include <set>

#include "base/result.h"
#include "txstore/store_impl.h"
#include "txstore/undo.h"

namespace coffer::txstore {
namespace {

constexpr std::uint64_t kProgressEvery = 1'000;

class Verifier {
 public:
  Verifier(View& view, chain::Family family,
           const std::function<void(std::string_view, std::uint64_t)>& progress)
      : view_(view), family_(family), progress_(progress) {}

  Result<Store::Verified> verify() {
    TRY(check_records());
    TRY(check_index("due entries", due_,
                    [&](auto after, std::size_t limit) { return view_.due(after, limit); }));
    TRY(check_index("unmined entries", unmined_,
                    [&](auto after, std::size_t limit) { return view_.unmined(after, limit); }));
    TRY(check_pruned());
    TRY(check_blocks());
    if (counts_ != TRY(stored_counts())) return damaged("the counts of the store are wrong");
    return verified_;
  }

 private:
  template <typename... Args>
  std::unexpected<Error> damaged(fmt::format_string<Args...> what, Args&&... args) {
    return fail(Code::kCorrupt, "{}; run 'coffer tx rebuild'",
                fmt::format(what, std::forward<Args>(args)...));
  }
  std::string name(const Hash256& id) const { return chain::display(family_, id); }

  Result<Counts> stored_counts() {
    Counts counts = TRY(view_.counts());
    counts.parent_missing = counts.overrides = counts.deleted = 0;  // history, not content
    return counts;
  }

  Result<> check_records() {
    return view_.for_each(std::nullopt, [&](const Record& found) -> Result<bool> {
      Record record = found;
      record.head.id = found.head.id;
      TRY(check_record(record));
      if (++verified_.records % kProgressEvery == 0) progress_("transactions", verified_.records);
      return true;
    });
  }

  Result<> check_record(Record& record) {
    const StoredTx& tx = record.head;
    std::vector<PageRef> pages;
    for (std::uint32_t page = 0; page < record.pages.size(); ++page)
      if (record.pages[page].entries.empty()) pages.push_back({&record, page});
    if (!pages.empty()) TRY(view_.load_pages(pages));
    std::uint32_t spendable = 0, spent = 0;
    std::vector<Hash256> children;
    for (std::uint32_t i = 0; i < tx.outputs; ++i) {
      const Entry& entry = record.entry(i);
      spendable += entry.unspendable ? 0 : 1;
      spent += entry.spent ? 1 : 0;
      if (entry.final && !entry.spent)
        return damaged("output {} of {} is final and unspent", i, name(tx.id));
      if (entry.final) {
        ++counts_.final_entries;
      } else if (entry.spent && !entry.removed) {
        children.push_back(entry.spender);
      }
      ++verified_.entries;
    }
    if (spendable != tx.spendable || spent != tx.spent)
      return damaged("{} counts {} spendable and {} spent outputs and has {} and {}", name(tx.id),
                     tx.spendable, tx.spent, spendable, spent);
    TRY(check_children(record, std::move(children)));
    TRY(check_parents(record));
    TRY(check_stamp(tx));
    ++counts_.records;
    counts_.bytes += static_cast<std::int64_t>(record.body_bytes);
    if (tx.state == State::kUnmined) ++counts_.unmined;
    if (tx.state == State::kConflicting) ++counts_.conflicting;
    if (tx.kept != retention::Reason::kDeletable) ++counts_.kept[static_cast<std::size_t>(tx.kept)];
    if (tx.due_at) due_.insert({*tx.due_at, tx.id});
    if (tx.unmined_since) unmined_.insert({*tx.unmined_since, tx.id});
    return {};
  }

  // A spender that is not final is stored, not conflicting, and has the output among its inputs.
  Result<> check_children(const Record& record, std::vector<Hash256> children) {
    std::map<Hash256, Record> loaded;
    std::sort(children.begin(), children.end());
    children.erase(std::unique(children.begin(), children.end()), children.end());
    std::vector<Record*> wanted;
    for (const Hash256& id : children) {
      Record& child = loaded[id];
      child.head.id = id;
      wanted.push_back(&child);
    }
    if (!wanted.empty()) TRY(view_.load(wanted));
    for (const auto& [id, child] : loaded) {
      if (!child.present)
        return damaged("{} says that {} spent it, which is not stored", name(record.head.id),
                       name(id));
      if (child.head.state == State::kConflicting)
        return damaged("{} says that {} spent it, which is conflicting", name(record.head.id),
                       name(id));
    }
    return {};
  }

  // What it spends says so, as far as it is stored; a conflicting one holds nothing.
  Result<> check_parents(const Record& record) {
    const TxBody body = TRY(view_.body(record.head.id));
    std::map<Hash256, Record> loaded;
    std::vector<Record*> wanted;
    for (const StoredInput& input : body.inputs) {
      Record& parent = loaded[input.outpoint.tx];
      parent.head.id = input.outpoint.tx;
    }
    for (auto& [id, parent] : loaded) wanted.push_back(&parent);
    if (!wanted.empty()) TRY(view_.load(wanted));
    for (std::uint32_t i = 0; i < body.inputs.size(); ++i) {
      const chain::Outpoint& outpoint = body.inputs[i].outpoint;
      Record& parent = loaded[outpoint.tx];
      if (!parent.present) {
        if (may_lack_parents(record.head)) continue;
        return damaged("{} is stored and its parent {} is not", name(record.head.id),
                       name(outpoint.tx));
      }
      if (outpoint.index >= parent.head.outputs) continue;
      const std::uint32_t page = Record::page_of(outpoint.index);
      if (parent.pages[page].entries.empty()) {
        const PageRef wanted_page[] = {{&parent, page}};
        TRY(view_.load_pages(wanted_page));
      }
      const Entry& entry = parent.entry(outpoint.index);
      const bool holds = entry.spent && entry.spender == record.head.id;
      if (record.head.state == State::kMined && !holds && !entry.unspendable)
        return damaged("{} is mined and does not hold its input {}", name(record.head.id),
                       chain::display(family_, outpoint));
      if (record.head.state == State::kConflicting && holds && !entry.final)
        return damaged("{} is conflicting and holds {}", name(record.head.id),
                       chain::display(family_, outpoint));
    }
    return {};
  }

  // A parent may be gone once its child is final; of one that is not, all parents are there, unless
  // the store began later than the chain.
  bool may_lack_parents(const StoredTx& child) const {
    if (view_.tip().first_block || child.state == State::kConflicting) return true;
    const auto highest = child.highest_height();
    return child.on_longest_chain() && highest &&
           static_cast<std::int64_t>(*highest) <= view_.tip().final_height;
  }

  Result<> check_stamp(const StoredTx& tx) {
    const bool on_chain = tx.on_longest_chain();
    if ((tx.state == State::kMined) != (on_chain && tx.state != State::kConflicting))
      return damaged("the state of {} does not follow from its blocks", name(tx.id));
    const bool conflicting = tx.state == State::kConflicting;
    const bool stamped =
        !tx.preserve_until && (conflicting || (on_chain && tx.unspent() == 0 && !tx.locked));
    if (stamped != tx.delete_at_height.has_value())
      return damaged("{} has {}delete_at_height and should{} have one", name(tx.id),
                     tx.delete_at_height ? "a " : "no ", stamped ? "" : " not");
    if (tx.delete_at_height && !conflicting && *tx.delete_at_height < *tx.highest_height())
      return damaged("{} may go before its own block", name(tx.id));
    if ((tx.delete_at_height || tx.preserve_until) && !tx.due_at)
      return damaged("{} is stamped and will never be looked at", name(tx.id));
    if (tx.due_at && tx.delete_at_height && *tx.due_at < *tx.delete_at_height)
      return damaged("{} is looked at before its delete_at_height", name(tx.id));
    if ((tx.state == State::kUnmined) != tx.unmined_since.has_value())
      return damaged("{} is {} and says since when it is unmined, or does not", name(tx.id),
                     to_string(tx.state));
    return {};
  }

  template <typename Page>
  Result<> check_index(std::string_view what, const std::set<DueEntry>& expected, Page page) {
    std::optional<DueEntry> after;
    auto next = expected.begin();
    for (;;) {
      const std::vector<DueEntry> entries = TRY(page(after, std::size_t{1'000}));
      for (const DueEntry& entry : entries) {
        if (next == expected.end() || *next != entry)
          return damaged("the {} and the transactions differ at {}", what, name(entry.id));
        ++next;
        ++(&expected == &due_ ? verified_.due : verified_.unmined);
      }
      if (entries.empty()) break;
      after = entries.back();
    }
    if (next != expected.end())
      return damaged("the {} and the transactions differ at {}", what, name(next->id));
    return {};
  }

  Result<bool> has_final_entry(const PrunedRef& ref) {
    Record parent;
    parent.head.id = ref.parent;
    Record* wanted[] = {&parent};
    TRY(view_.load(wanted));
    if (!parent.present) return false;
    std::vector<PageRef> pages;
    for (std::uint32_t page = 0; page < parent.pages.size(); ++page)
      if (parent.pages[page].entries.empty()) pages.push_back({&parent, page});
    if (!pages.empty()) TRY(view_.load_pages(pages));
    for (std::uint32_t i = 0; i < parent.head.outputs; ++i)
      if (parent.entry(i).final && parent.entry(i).spender == ref.child) return true;
    return false;
  }

  Result<> check_pruned() {
    return view_.for_each_pruned([&](const PrunedRef& ref) -> Result<bool> {
      if (!TRY(has_final_entry(ref)))
        return damaged("{} is remembered as pruned, and no entry of {} says so", name(ref.child),
                       name(ref.parent));
      return true;
    });
  }

  // Every block in the window has its list, and what is in it is stored and says so.
  Result<> check_blocks() {
    std::optional<std::uint64_t> last;
    const Result<> walked = view_.for_each_block([&](const BlockUndo& block) -> Result<bool> {
      const std::uint64_t height = block.position.ordinal.value;
      if (last && height != *last + 1) return damaged("the list of block {} is missing", *last + 1);
      last = height;
      TRY(check_block(block));
      ++verified_.blocks;
      return true;
    });
    if (!walked) return walked;
    if (last && *last != view_.tip().height())
      return damaged("the list of block {} is missing", *last + 1);
    return {};
  }

  Result<> check_block(const BlockUndo& block) {
    const UndoData undo = TRY(decode_undo(block.undo));
    const BlockRef ref = BlockRef::of(block.position);
    std::map<Hash256, Record> loaded;
    std::vector<Record*> wanted;
    for (const UndoData::Tx& tx : undo.txs) loaded[tx.id].head.id = tx.id;
    for (auto& [id, record] : loaded) wanted.push_back(&record);
    if (!wanted.empty()) TRY(view_.load(wanted));
    for (const auto& [id, record] : loaded) {
      const auto& in = record.head.blocks;
      if (!record.present || std::none_of(in.begin(), in.end(), [&](const MinedIn& each) {
            return each.block == ref && each.on_longest_chain;
          }))
        return damaged("block {} lists {}, which does not say so", ref.height, name(id));
    }
    return {};
  }

  View& view_;
  const chain::Family family_;
  const std::function<void(std::string_view, std::uint64_t)>& progress_;
  Store::Verified verified_;
  Counts counts_;
  std::set<DueEntry> due_, unmined_;
};

}  // namespace

Result<Store::Verified> Store::verify(
    const std::function<void(std::string_view, std::uint64_t)>& progress) const {
  return impl_->read<Verified>(
      [&](View& view) { return Verifier(view, impl_->network.family, progress).verify(); });
}

}  // namespace coffer::txstore
