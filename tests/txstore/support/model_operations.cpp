// What is done to single transactions and outputs in the model.
#include <algorithm>

#include "txstore/support/model.h"

namespace coffer::txstore::test {

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
  if (tx.mined_in) all.locked = false;  // mining unlocks
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

}  // namespace coffer::txstore::test
