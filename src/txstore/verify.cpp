// Whether the store is what its header says. Everything is derived again from the entries.
#include <map>
#include <set>

#include "base/result.h"
#include "txstore/facts.h"
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
    std::vector<std::uint32_t> spent_outputs;
    for (std::uint32_t i = 0; i < tx.outputs; ++i) {
      const Entry& entry = record.entry(i);
      spendable += entry.unspendable ? 0 : 1;
      spent += entry.spent ? 1 : 0;
      if (entry.final && !entry.spent)
        return damaged("output {} of {} is final and unspent", i, name(tx.id));
      if (entry.final) ++counts_.final_entries;
      if (entry.spent && !entry.removed) spent_outputs.push_back(i);
      ++verified_.entries;
    }
    if (spendable != tx.spendable || spent != tx.spent)
      return damaged("{} counts {} spendable and {} spent outputs and has {} and {}", name(tx.id),
                     tx.spendable, tx.spent, spendable, spent);
    TRY(check_children(record, spent_outputs));
    TRY(check_parents(record));
    TRY(check_stamp(tx));
    ++counts_.records;
    counts_.bytes += static_cast<std::int64_t>(record.body_bytes);
    if (tx.state == State::kUnmined) ++counts_.unmined;
    if (tx.state == State::kConflicting) ++counts_.conflicting;
    if (tx.kept != retention::Reason::kDeletable) ++counts_.kept[static_cast<std::size_t>(tx.kept)];
    for (const MinedIn& in : tx.blocks)
      if (in.on_longest_chain && static_cast<std::int64_t>(in.block.height) > line().final_height)
        ++mined_in_[{in.block.height, in.block.id}];
    if (tx.due_at) due_.insert({*tx.due_at, tx.id});
    if (tx.unmined_since) unmined_.insert({*tx.unmined_since, tx.id});
    return {};
  }

  // A spender is stored, not conflicting, and has the output among its inputs. One that is final
  // may be gone; then the index of pruned ones must tell.
  Result<> check_children(Record& record, std::span<const std::uint32_t> outputs) {
    std::map<Hash256, Record> loaded;
    for (const std::uint32_t i : outputs) {
      const Hash256& id = record.entry(i).spender;
      loaded[id].head.id = id;
    }
    std::vector<Record*> wanted;
    wanted.reserve(loaded.size());
    for (auto& [id, child] : loaded) wanted.push_back(&child);
    if (!wanted.empty()) TRY(view_.load(wanted));
    for (const std::uint32_t i : outputs) {
      const Entry& entry = record.entry(i);
      Record& child = loaded[entry.spender];
      if (entry.final) final_[{entry.spender, record.head.id}] = child.present;
      if (!child.present && entry.final) continue;
      if (!child.present)
        return damaged("{} says that {} spent it, which is not stored", name(record.head.id),
                       name(entry.spender));
      if (child.head.state == State::kConflicting)
        return damaged("{} says that {} spent it, which is conflicting", name(record.head.id),
                       name(entry.spender));
      if (entry.final && !retention::is_final(child_facts(&child), line()))
        return damaged("{} says that {} is final, which can still be undone", name(record.head.id),
                       name(entry.spender));
      if (!child.has_inputs()) {
        child.inputs.clear();
        for (const StoredInput& input : TRY(body_of(child)).inputs)
          child.inputs.push_back(input.outpoint);
      }
      if (entry.spender_input >= child.inputs.size() ||
          child.inputs[entry.spender_input] != chain::Outpoint{record.head.id, i})
        return damaged("output {} of {} names {} as its spender, which does not spend it", i,
                       name(record.head.id), name(entry.spender));
    }
    return {};
  }
  retention::ChainLine line() const { return {view_.tip().height(), view_.tip().final_height}; }
  Result<TxBody> body_of(const Record& record) {
    auto body = view_.body(record.head.id);
    if (!body && body.error().code == Code::kNotFound)
      return damaged("{} is stored without its body", name(record.head.id));
    return body;
  }

  // What it spends says so, as far as it is stored; a conflicting one holds nothing.
  Result<> check_parents(const Record& record) {
    const TxBody body = TRY(body_of(record));
    std::map<Hash256, Record> loaded;
    std::vector<Record*> wanted;
    for (const StoredInput& input : body.inputs) {
      Record& parent = loaded[input.outpoint.tx];
      parent.head.id = input.outpoint.tx;
    }
    wanted.reserve(loaded.size());
    for (auto& [id, parent] : loaded) wanted.push_back(&parent);
    if (!wanted.empty()) TRY(view_.load(wanted));
    for (const StoredInput& input : body.inputs) {
      const chain::Outpoint& outpoint = input.outpoint;
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
    if (tx.due_at && !tx.delete_at_height && !tx.preserve_until && !tx.absent_since)
      return damaged("{} is looked at without a reason", name(tx.id));
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

  Result<> check_pruned() {
    Result<> walked = view_.for_each_pruned([&](const PrunedRef& ref) -> Result<bool> {
      const auto found = final_.find({ref.child, ref.parent});
      if (found == final_.end())
        return damaged("{} is remembered as pruned, and no entry of {} says so", name(ref.child),
                       name(ref.parent));
      final_.erase(found);
      return true;
    });
    if (!walked) return walked;
    for (const auto& [pair, stored] : final_)
      if (!stored)
        return damaged("{} is pruned, and only its parent {} knows", name(pair.first),
                       name(pair.second));
    return {};
  }

  // Every block in the window has its list, and what is in it is stored and says so.
  Result<> check_blocks() {
    std::optional<std::uint64_t> last;
    Result<> walked = view_.for_each_block([&](const BlockUndo& block) -> Result<bool> {
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
    wanted.reserve(loaded.size());
    for (auto& [id, record] : loaded) wanted.push_back(&record);
    if (!wanted.empty()) TRY(view_.load(wanted));
    for (const auto& [id, record] : loaded) {
      const auto& in = record.head.blocks;
      if (!record.present || std::none_of(in.begin(), in.end(), [&](const MinedIn& each) {
            return each.block == ref && each.on_longest_chain;
          }))
        return damaged("block {} lists {}, which does not say so", ref.height, name(id));
    }
    const std::uint64_t mined = mined_in_[{ref.height, ref.id}];
    if (static_cast<std::int64_t>(ref.height) > line().final_height && mined != loaded.size())
      return damaged("block {} lists {} transactions, and {} say that they are in it", ref.height,
                     loaded.size(), mined);
    return {};
  }

  View& view_;
  const chain::Family family_;
  const std::function<void(std::string_view, std::uint64_t)>& progress_;
  Store::Verified verified_;
  Counts counts_;
  std::set<DueEntry> due_, unmined_;
  // Child and parent of entries that say final, and whether the child is stored.
  std::map<std::pair<Hash256, Hash256>, bool> final_;
  // How many are in a block of the window, by their own word; by height and id of the block.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> mined_in_;
};

}  // namespace

Result<Store::Verified> Store::verify(
    const std::function<void(std::string_view, std::uint64_t)>& progress) const {
  return impl_->read<Verified>(
      [&](View& view) { return Verifier(view, impl_->network.family, progress).verify(); });
}

}  // namespace coffer::txstore
