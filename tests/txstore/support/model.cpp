#include "txstore/support/model.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/result.h"

namespace coffer::txstore::test {

using retention::Reason;

namespace {

std::string text_of(std::optional<std::uint64_t> height) {
  return height ? std::to_string(*height) : "-";
}
std::string short_id(const Hash256& id) {
  return id.hex().substr(0, 20);
}

}  // namespace

std::string describe(const StoredTx& tx, std::span<const StoredOutput> outputs, const TxBody& body,
                     std::int64_t final_height) {
  std::vector<std::string> blocks;
  for (const MinedIn& in : tx.blocks)
    if (in.on_longest_chain || static_cast<std::int64_t>(in.block.height) > final_height)
      blocks.push_back(fmt::format("{}:{:x}{}", in.block.height, in.block.id,
                                   in.on_longest_chain ? "" : "(off)"));
  std::sort(blocks.begin(), blocks.end());
  std::string text = fmt::format(
      "{} {}{}{}{}{} blocks [{}] outputs {}/{}/{} unmined {} absent {} delete {} due {} preserve "
      "{} "
      "kept {} raw {} fee {}\n",
      short_id(tx.id), to_string(tx.state), tx.coinbase ? " coinbase" : "",
      tx.valid ? "" : " invalid", tx.locked ? " locked" : "", tx.genesis ? " genesis" : "",
      fmt::join(blocks, " "), tx.outputs, tx.spendable, tx.spent, text_of(tx.unmined_since),
      text_of(tx.absent_since), text_of(tx.delete_at_height), text_of(tx.due_at),
      text_of(tx.preserve_until), to_string(tx.kept), to_hex(body.raw),
      body.fee ? std::to_string(body.fee->value) : "-");
  for (const StoredInput& input : body.inputs)
    text += fmt::format("  in {}:{} {}\n", short_id(input.outpoint.tx), input.outpoint.index,
                        input.amount ? std::to_string(input.amount->value) : "-");
  for (const StoredOutput& output : outputs)
    text += fmt::format(
        "  out {} {}{}{}{}{}{} at {} by {}:{}\n", short_id(output.hash), output.amount.value,
        output.unspendable ? " unspendable" : "", output.removed ? " removed" : "",
        output.spent ? " spent" : "", output.final ? " final" : "", output.frozen ? " frozen" : "",
        text_of(output.spendable_at), short_id(output.spender), output.spender_input);
  return text;
}

std::string describe(std::string_view name,
                     const std::vector<std::pair<std::uint64_t, Hash256>>& entries) {
  std::string text(name);
  for (const auto& [height, id] : entries) text += fmt::format(" {}:{}", height, short_id(id));
  return text + "\n";
}

// ---- what is there ----

const TxStoreModel::Life* TxStoreModel::stored(const Hash256& id) const {
  const auto found = txs_.find(id);
  return found == txs_.end() || !found->second.stored ? nullptr : &found->second.lives.back();
}
TxStoreModel::Life* TxStoreModel::stored(const Hash256& id) {
  return const_cast<Life*>(std::as_const(*this).stored(id));
}
bool TxStoreModel::is_stored(const Hash256& id) const {
  return stored(id) != nullptr;
}
const StoredTx* TxStoreModel::find(const Hash256& id) const {
  const Life* life = stored(id);
  return life == nullptr ? nullptr : &life->tx;
}
StoredOutput* TxStoreModel::output(const chain::Outpoint& outpoint) {
  return const_cast<StoredOutput*>(find_output(outpoint));
}
const StoredOutput* TxStoreModel::find_output(const chain::Outpoint& outpoint) const {
  const Life* life = stored(outpoint.tx);
  return life == nullptr || outpoint.index >= life->outputs.size() ? nullptr
                                                                   : &life->outputs[outpoint.index];
}

bool TxStoreModel::is_on_chain(const Life& life) {
  return std::any_of(life.blocks.begin(), life.blocks.end(),
                     [](const MinedIn& in) { return in.on_longest_chain; });
}
// Of all branches; one that is below the final height decides nothing.
std::optional<std::uint64_t> TxStoreModel::highest_height(const Life& life) const {
  std::optional<std::uint64_t> highest;
  for (const MinedIn& in : life.blocks) highest = std::max(highest.value_or(0), in.block.height);
  return highest;
}
bool TxStoreModel::is_at_or_below_final(std::optional<std::uint64_t> height) const {
  return height && static_cast<std::int64_t>(*height) <= final_height_;
}
bool TxStoreModel::is_final_child(const Hash256& id) const {
  const Life* child = stored(id);
  return child != nullptr && child->tx.state != State::kConflicting && is_on_chain(*child) &&
         is_at_or_below_final(highest_height(*child));
}

bool TxStoreModel::has_mined_descendant(const Hash256& id) const {
  for (const auto& [child_id, tx] : txs_) {
    const Life* child = stored(child_id);
    if (child == nullptr) continue;
    for (const StoredInput& input : child->body.inputs)
      if (input.outpoint.tx == id && (is_on_chain(*child) || has_mined_descendant(child_id)))
        return true;
  }
  return false;
}

bool TxStoreModel::is_pruned(const Hash256& id) const {
  for (const auto& [parent, tx] : txs_)
    if (const Life* life = stored(parent))
      for (const StoredOutput& output : life->outputs)
        if (output.final && output.spender == id) return true;
  return false;
}

Counts TxStoreModel::counts() const {
  Counts counts;
  for (const auto& [id, tx] : txs_) {
    const Life* life = stored(id);
    if (life == nullptr) continue;
    ++counts.records;
    counts.bytes += static_cast<std::int64_t>(life->body.raw.size());
    counts.unmined += life->tx.state == State::kUnmined;
    counts.conflicting += life->tx.state == State::kConflicting;
    if (life->tx.kept != Reason::kDeletable) ++counts.kept[static_cast<std::size_t>(life->tx.kept)];
    for (const StoredOutput& output : life->outputs) counts.final_entries += output.final;
  }
  counts.parent_missing = parent_missing_;
  counts.deleted = deleted_;
  return counts;
}

std::string TxStoreModel::describe_all() const {
  std::string text;
  for (const auto& [id, tx] : txs_)
    if (const Life* life = stored(id))
      text += describe(life->tx, life->outputs, life->body, final_height_);
  return text;
}

std::string TxStoreModel::describe_indexes() const {
  std::vector<std::pair<std::uint64_t, Hash256>> due, unmined;
  for (const auto& [id, tx] : txs_) {
    const Life* life = stored(id);
    if (life == nullptr) continue;
    if (life->tx.due_at) due.emplace_back(*life->tx.due_at, id);
    if (life->tx.unmined_since) unmined.emplace_back(*life->tx.unmined_since, id);
  }
  std::sort(due.begin(), due.end());
  std::sort(unmined.begin(), unmined.end());
  return describe("due", due) + describe("unmined", unmined);
}

// ---- the rule ----

TxStoreModel::Judgement TxStoreModel::judge(const Hash256& id) const {
  const Life* life = stored(id);
  CHECK(life != nullptr);
  struct Why {
    Reason reason;
    std::optional<std::uint32_t> output;
    std::optional<std::uint64_t> until;
  };
  std::vector<Why> why;
  const StoredTx& tx = life->tx;
  if (tx.preserve_until) why.push_back({Reason::kPreserved, {}, {}});
  if (!tx.delete_at_height || *tx.delete_at_height > tip_)
    why.push_back({Reason::kNotDue, {}, tx.delete_at_height});
  if (tx.state != State::kConflicting) {
    if (tx.locked) why.push_back({Reason::kLocked, {}, {}});
    if (!is_on_chain(*life))
      why.push_back({Reason::kUnmined, {}, {}});
    else if (!is_at_or_below_final(highest_height(*life)))
      why.push_back({Reason::kNotFinal, {}, *highest_height(*life) + options_.window});
    for (std::uint32_t i = 0; i < life->outputs.size(); ++i) {
      const StoredOutput& output = life->outputs[i];
      if (output.frozen) why.push_back({Reason::kFrozen, i, {}});
      if (output.frozen || output.unspendable || output.removed || output.final) continue;
      if (!output.spent) {
        why.push_back({Reason::kUnspent, i, {}});
        continue;
      }
      const Life* child = stored(output.spender);
      if (child == nullptr)
        why.push_back({Reason::kChildAbsent, i, {}});
      else if (child->tx.state == State::kConflicting)
        why.push_back({Reason::kChildConflicting, i, {}});
      else if (!is_on_chain(*child))
        why.push_back({Reason::kChildUnmined, i, {}});
      else if (!is_final_child(output.spender))
        why.push_back({Reason::kChildNotFinal, i, *highest_height(*child) + options_.window});
    }
  }
  Judgement result;
  if (why.empty()) return result;
  const auto first = std::min_element(why.begin(), why.end(), [](const Why& a, const Why& b) {
    return std::pair(a.reason, a.output) < std::pair(b.reason, b.output);
  });
  result.reason = first->reason;
  result.output = first->output;
  if (std::all_of(why.begin(), why.end(), [](const Why& each) { return each.until.has_value(); }))
    for (const Why& each : why) result.until = std::max(result.until.value_or(0), *each.until);
  return result;
}

// X3, after a change; `due_at` is the height of the next look.
void TxStoreModel::restamp(Life& life, std::optional<std::uint64_t> height) {
  StoredTx& tx = life.tx;
  // The store's list of blocks; all of them stay in ours.
  tx.blocks.clear();
  for (const MinedIn& in : life.blocks)
    if (in.on_longest_chain || !is_at_or_below_final(in.block.height)) tx.blocks.push_back(in);
  if (tx.state != State::kConflicting)
    tx.state = is_on_chain(life) ? State::kMined : State::kUnmined;
  if (tx.state != State::kUnmined) {
    tx.unmined_since.reset();
    tx.absent_since.reset();
  }
  tx.spent = 0;
  for (const StoredOutput& output : life.outputs) tx.spent += output.spent;
  const std::uint64_t stamp =
      height.value_or(tip_) + std::max(options_.block_height_retention, options_.window);
  const bool all_spent =
      std::all_of(life.outputs.begin(), life.outputs.end(),
                  [](const StoredOutput& output) { return output.unspendable || output.spent; });
  const bool conflicting = tx.state == State::kConflicting;
  const bool used_up = tx.state == State::kMined && all_spent && !tx.locked;
  if (tx.preserve_until || (!conflicting && !used_up))
    tx.delete_at_height.reset();
  else if (conflicting)
    tx.delete_at_height = tx.delete_at_height.value_or(stamp);
  else
    tx.delete_at_height = std::max(tx.delete_at_height.value_or(0), stamp);
  tx.kept = Reason::kDeletable;
  tx.due_at = tx.preserve_until     ? tx.preserve_until
              : tx.delete_at_height ? tx.delete_at_height
              : tx.absent_since     ? std::optional(*tx.absent_since + options_.unmined_retention)
                                    : std::nullopt;
}

// ---- damage ----

void TxStoreModel::force_stamp(const Hash256& id, std::uint64_t delete_at_height) {
  StoredTx& tx = stored(id)->tx;
  tx.delete_at_height = tx.due_at = delete_at_height;
}
void TxStoreModel::force_erase(const Hash256& id) {
  CHECK(is_stored(id));
  txs_[id].stored = false;
}
void TxStoreModel::force_conflicting(const Hash256& id, std::uint64_t delete_at_height) {
  StoredTx& tx = stored(id)->tx;
  tx.state = State::kConflicting;
  tx.unmined_since.reset();
  tx.absent_since.reset();
  tx.preserve_until.reset();
  tx.delete_at_height = tx.due_at = delete_at_height;
}

}  // namespace coffer::txstore::test
