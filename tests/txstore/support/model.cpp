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
  if (tx.preserve_until)
    tx.delete_at_height.reset();
  else if (tx.state == State::kConflicting)
    tx.delete_at_height = tx.delete_at_height.value_or(stamp);
  else if (tx.state == State::kMined && all_spent && !tx.locked)
    tx.delete_at_height = std::max(tx.delete_at_height.value_or(0), stamp);
  else
    tx.delete_at_height.reset();
  tx.kept = Reason::kDeletable;
  tx.due_at = tx.preserve_until     ? tx.preserve_until
              : tx.delete_at_height ? tx.delete_at_height
              : tx.absent_since     ? std::optional(*tx.absent_since + options_.unmined_retention)
                                    : std::nullopt;
}

// ---- operations ----

ItemResult TxStoreModel::create_one(const NewTx& tx) {
  if (is_stored(tx.id)) return {Outcome::kUnchanged};
  if (!tx.mined_in) {
    for (std::uint32_t i = 0; i < tx.inputs.size(); ++i) {
      const StoredOutput* entry = output(tx.inputs[i]);
      if (entry != nullptr && entry->final && entry->spender == tx.id)
        return {Outcome::kDeletedChild};
    }
    for (const chain::Outpoint& input : tx.inputs) {
      if (!is_stored(input.tx)) {
        if (began_at_origin_) return {Outcome::kUnknownParent, input.tx};
        continue;
      }
      const StoredOutput* entry = output(input);
      if (entry == nullptr || entry->unspendable) return {Outcome::kOutputNotFound};
    }
  }
  Tx& all = txs_[tx.id];
  Life life;
  life.tx.id = tx.id;
  life.tx.coinbase = tx.coinbase;
  life.tx.valid = tx.valid;
  life.tx.locked = (tx.locked || all.locked) && !tx.mined_in;
  life.tx.preserve_until = all.preserve_until;
  life.tx.outputs = static_cast<std::uint32_t>(tx.outputs.size());
  std::uint64_t paid = 0, taken = 0;
  for (std::uint32_t i = 0; i < tx.outputs.size(); ++i) {
    StoredOutput& entry = life.outputs.emplace_back();
    entry.hash = tx.outputs[i].hash;
    entry.amount = tx.outputs[i].amount;
    entry.unspendable = !tx.outputs[i].spendable;
    entry.frozen = all.frozen.contains(i);
    if (const auto found = all.reassigned.find(i); found != all.reassigned.end()) {
      entry.hash = found->second.first;
      entry.spendable_at = found->second.second;
    }
    life.tx.spendable += tx.outputs[i].spendable;
    paid += tx.outputs[i].amount.value;
  }
  life.body.raw = tx.raw;
  bool all_known = !tx.inputs.empty() && !tx.coinbase;
  for (const chain::Outpoint& input : tx.inputs) {
    const StoredOutput* entry = output(input);
    life.body.inputs.push_back({input, entry ? std::optional(entry->amount) : std::nullopt});
    all_known = all_known && entry != nullptr;
    if (entry != nullptr) taken += entry->amount.value;
    if (tx.mined_in && began_at_origin_ && entry == nullptr) ++parent_missing_;
  }
  life.body.fee = tx.fee;
  if (!tx.fee && all_known && taken >= paid) life.body.fee = Amount(taken - paid);
  if (tx.mined_in)
    life.blocks.push_back({*tx.mined_in, true});
  else
    life.tx.unmined_since = tip_;
  restamp(life, tx.mined_in ? std::optional(tx.mined_in->height) : std::nullopt);
  all.lives.push_back(std::move(life));
  all.stored = true;
  return {};
}

std::vector<ItemResult> TxStoreModel::create(std::span<const NewTx> txs) {
  std::vector<ItemResult> results;
  for (const NewTx& tx : txs) results.push_back(create_one(tx));
  return results;
}

std::uint64_t TxStoreModel::spending_height(const Life& spender) const {
  std::optional<std::uint64_t> mined;
  for (const MinedIn& in : spender.blocks)
    if (in.on_longest_chain) mined = std::max(mined.value_or(0), in.block.height);
  return mined ? *mined : at_origin_ ? 0 : tip_ + 1;
}

ItemResult TxStoreModel::check_input(const Life& spender, std::uint32_t input,
                                     const std::optional<Hash256>& hash) {
  const chain::Outpoint& outpoint = spender.body.inputs[input].outpoint;
  const Life* parent = stored(outpoint.tx);
  if (parent == nullptr) return {Outcome::kNotFound};
  if (parent->tx.state == State::kConflicting) return {Outcome::kConflicting};
  if (parent->tx.locked) return {Outcome::kLocked};
  const std::uint64_t height = spending_height(spender);
  if (parent->tx.coinbase && is_on_chain(*parent) && height < spending_height(*parent) + 100)
    return {Outcome::kImmatureCoinbase};
  const StoredOutput* entry = output(outpoint);
  if (entry == nullptr || entry->unspendable) return {Outcome::kOutputNotFound};
  if (hash && *hash != entry->hash) return {Outcome::kHashMismatch};
  if (entry->frozen || (entry->spendable_at && *entry->spendable_at > height))
    return {Outcome::kFrozen};
  const bool own = entry->spender == spender.tx.id && entry->spender_input == input;
  if (entry->final && own) return {Outcome::kDeletedChild};
  if (entry->spent && !own) return {Outcome::kSpent, entry->spender};
  return {entry->spent ? Outcome::kUnchanged : Outcome::kDone};
}

SpendResult TxStoreModel::take_inputs(Life& spender,
                                      const std::vector<std::optional<Hash256>>& hashes) {
  SpendResult result;
  const auto count = static_cast<std::uint32_t>(spender.body.inputs.size());
  for (std::uint32_t i = 0; i < count; ++i)
    result.inputs.push_back(check_input(spender, i, i < hashes.size() ? hashes[i] : std::nullopt));
  for (const ItemResult& item : result.inputs) {
    if (item.ok()) continue;
    result.outcome = item.outcome;
    return result;
  }
  result.outcome = Outcome::kUnchanged;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (result.inputs[i].outcome == Outcome::kUnchanged) continue;
    result.outcome = Outcome::kDone;
    const chain::Outpoint& outpoint = spender.body.inputs[i].outpoint;
    StoredOutput& entry = *output(outpoint);
    entry.spent = true;
    entry.spender = spender.tx.id;
    entry.spender_input = i;
    restamp(*stored(outpoint.tx));
  }
  return result;
}

SpendResult TxStoreModel::release_inputs(Life& spender) {
  SpendResult result;
  for (std::uint32_t i = 0; i < spender.body.inputs.size(); ++i) {
    const chain::Outpoint& outpoint = spender.body.inputs[i].outpoint;
    StoredOutput* entry = output(outpoint);
    ItemResult item = {Outcome::kUnchanged};
    if (!is_stored(outpoint.tx)) {
      item.outcome = Outcome::kNotFound;
    } else if (entry == nullptr || entry->unspendable) {
      item.outcome = Outcome::kOutputNotFound;
    } else if (entry->spent && entry->spender == spender.tx.id && entry->spender_input == i) {
      item.outcome = entry->final ? Outcome::kDeletedChild : Outcome::kDone;
    }
    if (item.outcome == Outcome::kDone) {
      entry->spent = false;
      entry->spender = {};
      entry->spender_input = 0;
      restamp(*stored(outpoint.tx));
    }
    result.inputs.push_back(item);
  }
  result.outcome = Outcome::kUnchanged;
  for (const ItemResult& item : result.inputs)
    if (item.outcome == Outcome::kDone) result.outcome = Outcome::kDone;
  for (const ItemResult& item : result.inputs)
    if (!item.ok()) {
      result.outcome = item.outcome;
      break;
    }
  return result;
}

std::vector<SpendResult> TxStoreModel::spend(std::span<const SpendRequest> requests) {
  std::vector<SpendResult> results;
  for (const SpendRequest& request : requests) {
    Life* spender = stored(request.spender);
    if (spender == nullptr)
      results.push_back({Outcome::kNotFound, {}});
    else if (spender->tx.state == State::kConflicting)
      results.push_back({Outcome::kConflicting, {}});
    else
      results.push_back(take_inputs(*spender, request.output_hashes));
  }
  return results;
}

std::vector<SpendResult> TxStoreModel::unspend(std::span<const Hash256> spenders) {
  std::vector<SpendResult> results;
  for (const Hash256& id : spenders) {
    Life* spender = stored(id);
    if (spender == nullptr)
      results.push_back({Outcome::kNotFound, {}});
    else if (spender->tx.state == State::kMined)
      results.push_back({Outcome::kMined, {}});
    else
      results.push_back(release_inputs(*spender));
  }
  return results;
}

std::vector<ItemResult> TxStoreModel::set_mined(std::span<const Hash256> ids, const BlockRef& block,
                                                bool longest_chain) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    Life* life = stored(id);
    if (life == nullptr) {
      results.push_back({Outcome::kNotFound});
      continue;
    }
    if (life->tx.state == State::kConflicting) {
      results.push_back({Outcome::kConflicting});
      continue;
    }
    const auto found = std::find_if(life->blocks.begin(), life->blocks.end(),
                                    [&](const MinedIn& in) { return in.block == block; });
    if (found != life->blocks.end() && found->on_longest_chain == longest_chain) {
      results.push_back({Outcome::kUnchanged});
      continue;
    }
    if (found != life->blocks.end())
      found->on_longest_chain = longest_chain;
    else
      life->blocks.push_back({block, longest_chain});
    if (longest_chain) life->tx.locked = txs_[id].locked = false;
    if (!is_on_chain(*life) && !life->tx.unmined_since)
      life->tx.unmined_since = life->tx.absent_since = tip_;
    restamp(*life, block.height);
    results.push_back({});
  }
  return results;
}

std::vector<ItemResult> TxStoreModel::unset_mined(std::span<const Hash256> ids,
                                                  const BlockRef& block) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    Life* life = stored(id);
    if (life == nullptr) {
      results.push_back({Outcome::kNotFound});
      continue;
    }
    const auto found = std::find(life->blocks.begin(), life->blocks.end(), MinedIn{block, true});
    if (found == life->blocks.end()) {
      results.push_back({Outcome::kUnchanged});
      continue;
    }
    found->on_longest_chain = false;
    if (!is_on_chain(*life)) {
      life->tx.unmined_since = life->tx.absent_since = tip_;
      if (life->tx.coinbase) make_conflicting(id);
    }
    restamp(*life);
    results.push_back({});
  }
  return results;
}

// Itself and every stored transaction that spends one of its outputs, and so on.
void TxStoreModel::make_conflicting(const Hash256& id) {
  Life& life = *stored(id);
  if (life.tx.state == State::kConflicting) return;
  life.tx.state = State::kConflicting;
  for (MinedIn& in : life.blocks) in.on_longest_chain = false;  // the chain overruled it
  (void)release_inputs(life);
  life.tx.delete_at_height.reset();
  restamp(life);
  std::set<Hash256> spenders;
  for (const StoredOutput& output : life.outputs)
    if (output.spent && is_stored(output.spender)) spenders.insert(output.spender);
  for (const Hash256& spender : spenders) make_conflicting(spender);
}

std::vector<ItemResult> TxStoreModel::mark_conflicting(std::span<const Hash256> ids) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    const Life* life = stored(id);
    if (life == nullptr) {
      results.push_back({Outcome::kNotFound});
    } else if (life->tx.state == State::kConflicting) {
      results.push_back({Outcome::kUnchanged});
    } else if (is_on_chain(*life)) {
      results.push_back({Outcome::kMined});
    } else {
      make_conflicting(id);
      results.push_back({});
    }
  }
  return results;
}

std::vector<ItemResult> TxStoreModel::unmark_conflicting(std::span<const Hash256> ids) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    Life* life = stored(id);
    if (life == nullptr) {
      results.push_back({Outcome::kNotFound});
      continue;
    }
    if (life->tx.state != State::kConflicting) {
      results.push_back({Outcome::kUnchanged});
      continue;
    }
    const SpendResult taken = take_inputs(*life, {});
    ItemResult result;
    for (const ItemResult& item : taken.inputs)
      if (!item.ok()) {
        result = item;
        break;
      }
    results.push_back(result);
    if (!result.ok()) continue;
    life->tx.state = State::kUnmined;
    life->tx.unmined_since = life->tx.absent_since = tip_;
    life->tx.delete_at_height.reset();
    restamp(*life);
  }
  return results;
}

void TxStoreModel::erase(const Hash256& id) {
  Life& life = *stored(id);
  if (life.tx.state == State::kConflicting) {
    ++arms_.conflicting;
  } else {
    ++arms_.mined;
    // X6: the parents that are still there remember it.
    for (std::uint32_t i = 0; i < life.body.inputs.size(); ++i) {
      StoredOutput* entry = output(life.body.inputs[i].outpoint);
      if (entry != nullptr && entry->spent && entry->spender == id && entry->spender_input == i)
        entry->final = true;
    }
  }
  Tx& all = txs_[id];
  all.stored = all.locked = false;
  all.preserve_until.reset();
  all.frozen.clear();
  all.reassigned.clear();
  ++deleted_;
}

std::vector<ItemResult> TxStoreModel::remove(std::span<const Hash256> ids) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    if (!is_stored(id)) {
      results.push_back({Outcome::kNotFound});
    } else if (judge(id).reason != Reason::kDeletable) {
      results.push_back({Outcome::kKept});
    } else {
      erase(id);
      results.push_back({});
    }
  }
  return results;
}

std::vector<ItemResult> TxStoreModel::lock(std::span<const Hash256> ids) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    Life* life = stored(id);
    if (life == nullptr) {
      results.push_back({Outcome::kNotFound});
    } else if (life->tx.state == State::kMined) {
      results.push_back({Outcome::kMined});
    } else if (life->tx.locked) {
      results.push_back({Outcome::kUnchanged});
    } else {
      life->tx.locked = txs_[id].locked = true;
      restamp(*life);
      results.push_back({});
    }
  }
  return results;
}

std::vector<ItemResult> TxStoreModel::unlock(std::span<const Hash256> ids) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    Life* life = stored(id);
    if (life == nullptr) {
      results.push_back({Outcome::kNotFound});
    } else if (!life->tx.locked) {
      results.push_back({Outcome::kUnchanged});
    } else {
      life->tx.locked = txs_[id].locked = false;
      restamp(*life);
      results.push_back({});
    }
  }
  return results;
}

std::vector<ItemResult> TxStoreModel::freeze(std::span<const chain::Outpoint> outputs) {
  std::vector<ItemResult> results;
  for (const chain::Outpoint& outpoint : outputs) {
    StoredOutput* entry = output(outpoint);
    if (!is_stored(outpoint.tx)) {
      results.push_back({Outcome::kNotFound});
    } else if (entry == nullptr || entry->unspendable) {
      results.push_back({Outcome::kOutputNotFound});
    } else if (entry->spent) {
      results.push_back({Outcome::kSpent, entry->spender});
    } else if (entry->frozen) {
      results.push_back({Outcome::kUnchanged});
    } else {
      // A frozen output is unspent: nothing was stamped.
      entry->frozen = txs_[outpoint.tx].frozen[outpoint.index] = true;
      results.push_back({});
    }
  }
  return results;
}

std::vector<ItemResult> TxStoreModel::unfreeze(std::span<const chain::Outpoint> outputs) {
  std::vector<ItemResult> results;
  for (const chain::Outpoint& outpoint : outputs) {
    StoredOutput* entry = output(outpoint);
    if (!is_stored(outpoint.tx)) {
      results.push_back({Outcome::kNotFound});
    } else if (entry == nullptr || entry->unspendable) {
      results.push_back({Outcome::kOutputNotFound});
    } else if (!entry->frozen) {
      results.push_back({Outcome::kNotFrozen});
    } else {
      entry->frozen = false;
      txs_[outpoint.tx].frozen.erase(outpoint.index);
      restamp(*stored(outpoint.tx));
      results.push_back({});
    }
  }
  return results;
}

std::vector<ItemResult> TxStoreModel::reassign(std::span<const Reassignment> items) {
  std::vector<ItemResult> results;
  for (const Reassignment& item : items) {
    StoredOutput* entry = output(item.outpoint);
    if (!is_stored(item.outpoint.tx)) {
      results.push_back({Outcome::kNotFound});
    } else if (entry == nullptr || entry->unspendable) {
      results.push_back({Outcome::kOutputNotFound});
    } else if (entry->hash != item.old_hash) {
      results.push_back({Outcome::kHashMismatch});
    } else if (!entry->frozen) {
      results.push_back({Outcome::kNotFrozen});
    } else {
      entry->hash = item.new_hash;
      entry->frozen = false;
      entry->spendable_at = tip_ + 1'000;
      Tx& all = txs_[item.outpoint.tx];
      all.frozen.erase(item.outpoint.index);
      all.reassigned[item.outpoint.index] = {entry->hash, *entry->spendable_at};
      restamp(*stored(item.outpoint.tx));
      results.push_back({});
    }
  }
  return results;
}

std::vector<ItemResult> TxStoreModel::preserve(std::span<const Hash256> ids, std::uint64_t until) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    Life* life = stored(id);
    if (life == nullptr) {
      results.push_back({Outcome::kNotFound});
    } else if (life->tx.preserve_until == until) {
      results.push_back({Outcome::kUnchanged});
    } else {
      life->tx.preserve_until = txs_[id].preserve_until = until;
      restamp(*life);
      results.push_back({});
    }
  }
  return results;
}

void TxStoreModel::advance(std::uint64_t height) {
  CHECK(at_origin_ || height > tip_);
  at_origin_ = false;
  tip_ = height;
  final_height_ = std::max(final_height_, static_cast<std::int64_t>(height) -
                                              static_cast<std::int64_t>(options_.window));
}

// ---- cleanup ----

// Whether its time has come for something else than deletion.
bool TxStoreModel::expire(const Hash256& id) {
  Life& life = *stored(id);
  if (life.tx.preserve_until) {
    if (*life.tx.preserve_until > tip_) return false;
    ++arms_.preservation_ended;
    life.tx.preserve_until.reset();
    txs_[id].preserve_until.reset();
    restamp(life);
    return true;
  }
  if (life.tx.state == State::kUnmined && life.tx.absent_since &&
      tip_ >= *life.tx.absent_since + options_.unmined_retention) {
    ++arms_.expired;
    make_conflicting(id);
    return true;
  }
  return false;
}

// The rule kept it.
void TxStoreModel::put_off(const Hash256& id, const Judgement& judgement) {
  Life& life = *stored(id);
  life.tx.kept = judgement.reason;
  // X7.
  life.tx.due_at =
      judgement.until ? std::max(*judgement.until, tip_ + 1) : tip_ + options_.window + 1;
  // X6: a child that was read as final is not read again.
  if (life.tx.state == State::kConflicting) return;
  for (StoredOutput& output : life.outputs)
    if (output.spent && is_final_child(output.spender)) output.final = true;
}

CleanupReport TxStoreModel::prune() {
  CleanupReport report;
  const auto is_due = [&](const Hash256& id) {
    const Life* life = stored(id);
    return life != nullptr && life->tx.due_at && *life->tx.due_at <= tip_;
  };
  // What a pass leaves due at this tip is looked at by another.
  for (;;) {
    std::vector<Hash256> due, going;
    for (const auto& [id, tx] : txs_)
      if (is_due(id)) due.push_back(id);
    if (due.empty()) return report;
    std::sort(due.begin(), due.end(), [&](const Hash256& a, const Hash256& b) {
      return std::pair(find(a)->due_at, a) < std::pair(find(b)->due_at, b);
    });
    report.looked_at += due.size();
    std::set<Hash256> expired;
    for (const Hash256& id : due)
      if (is_due(id) && expire(id)) expired.insert(id);
    report.expired += expired.size();
    for (const Hash256& id : due) {
      if (!is_due(id) || expired.contains(id)) continue;
      const Judgement judgement = judge(id);
      if (judgement.reason == Reason::kDeletable) {
        going.push_back(id);
        continue;
      }
      ++report.kept;
      ++report.kept_by[static_cast<std::size_t>(judgement.reason)];
      put_off(id, judgement);
    }
    for (const Hash256& id : going) {
      ++report.deleted;
      report.deleted_conflicting += find(id)->state == State::kConflicting;
      erase(id);
    }
  }
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
