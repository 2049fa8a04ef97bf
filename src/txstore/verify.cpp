// Whether the store is what its header says. Everything is derived again from the entries. Memory
// is bounded by the window and by the largest transaction, whatever is stored.
#include <map>
#include <set>

#include "base/result.h"
#include "txstore/facts.h"
#include "txstore/store_impl.h"
#include "txstore/undo.h"
#include "txstore/verify_indexes.h"

namespace coffer::txstore {
namespace {

constexpr std::uint64_t kProgressEvery = 1'000;
constexpr std::size_t kChildrenAtOnce = 1'000;

class Verifier {
 public:
  Verifier(View& view, chain::Family family,
           const std::function<void(std::string_view, std::uint64_t)>& progress)
      : view_(view), family_(family), progress_(progress), indexes_(view, family) {}

  Result<Store::Verified> verify() {
    TRY(check_records());
    const IndexVerifier::Sizes sizes = TRY(indexes_.check());
    verified_.due = sizes.due;
    verified_.unmined = sizes.unmined;
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
    std::set<Hash256> pruned;
    for (std::span rest(spent_outputs); !rest.empty();) {
      const std::size_t count = std::min(rest.size(), kChildrenAtOnce);
      TRY(check_children(record, rest.first(count), pruned));
      rest = rest.subspan(count);
    }
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
    indexes_.expect(record, pruned);
    return {};
  }

  // A spender is stored, not conflicting, and has the output among its inputs. One that is final
  // may be gone, and is pruned then.
  Result<> check_children(Record& record, std::span<const std::uint32_t> outputs,
                          std::set<Hash256>& pruned) {
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
      if (!child.present && entry.final) {
        pruned.insert(entry.spender);
        continue;
      }
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
  IndexVerifier indexes_;
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
