#include "wallet/support/model.h"

namespace coffer::wallet::test {

bool ModelWallet::names(const Entry& entry, const chain::Outpoint& outpoint) const {
  for (const std::size_t i : entry.input_rows)
    if (entry.tx.inputs[i] == outpoint) return true;
  return false;
}

bool ModelWallet::has_coin(const chain::Outpoint& outpoint) const {
  const auto found = txs.find(outpoint.tx);
  return found != txs.end() && found->second.coins.contains(outpoint.index);
}

std::uint64_t ModelWallet::amount(const chain::Outpoint& outpoint) const {
  return txs.at(outpoint.tx).tx.outputs[outpoint.index].amount;
}

std::optional<Hash256> ModelWallet::spender(const chain::Outpoint& outpoint) const {
  if (const auto stub = stub_spends.find(outpoint); stub != stub_spends.end()) return stub->second;
  const Entry* best = nullptr;
  const auto rank = [](const Entry& e) {
    return std::tuple(!e.height.has_value(), e.status == TxStatus::kPending, e.order);
  };
  for (const auto& [id, entry] : txs)
    if (is_active(entry.status) && names(entry, outpoint) && (!best || rank(entry) < rank(*best)))
      best = &entry;
  if (best == nullptr) return std::nullopt;
  return best->tx.id;
}

CoinState ModelWallet::state(const chain::Outpoint& outpoint) const {
  const Entry& parent = txs.at(outpoint.tx);
  if (parent.status == TxStatus::kFailed || parent.status == TxStatus::kReplaced)
    return CoinState::kDead;
  if (parent.status == TxStatus::kOrphaned) return CoinState::kOrphaned;
  if (const auto by = spender(outpoint))
    return txs.at(*by).status == TxStatus::kPending ? CoinState::kLocked : CoinState::kSpent;
  if (parent.status == TxStatus::kPending) return CoinState::kPending;
  if (!parent.height) return CoinState::kUnconfirmed;
  if (parent.tx.coinbase && tip - static_cast<std::int64_t>(*parent.height) < 100)
    return CoinState::kImmature;
  return CoinState::kConfirmed;
}

std::vector<Hash256> ModelWallet::conflicts(const MadeTx& tx) const {
  std::vector<Hash256> list;
  for (const auto& [id, entry] : txs) {
    if (id == tx.id || !is_active(entry.status)) continue;
    for (const chain::Outpoint& input : tx.inputs)
      if (names(entry, input)) {
        list.push_back(id);
        break;
      }
  }
  return list;
}

bool ModelWallet::has_invalid_parent(const MadeTx& tx) const {
  const auto self = txs.find(tx.id);
  for (std::size_t i = 0; i < tx.inputs.size(); ++i) {
    const chain::Outpoint& input = tx.inputs[i];
    const auto parent = txs.find(input.tx);
    if (parent != txs.end() && !is_active(parent->second.status)) return true;
    // Spent long ago, by one that is pruned or is a stub.
    if (stub_spends.contains(input)) return true;
    const bool was_mine = self != txs.end() && self->second.amounts.contains(i);
    const auto gone = pruned.find(input.tx);
    if (gone != pruned.end() && !has_coin(input) &&
        (was_mine || gone->second.outputs.contains(input.index)))
      return true;
  }
  return false;
}

std::optional<Hash256> ModelWallet::pending_parent(const MadeTx& tx) const {
  for (const chain::Outpoint& input : tx.inputs) {
    const auto parent = txs.find(input.tx);
    if (parent != txs.end() && parent->second.status == TxStatus::kPending) return parent->first;
  }
  return std::nullopt;
}

bool ModelWallet::has_published_child(const Hash256& id) const {
  for (const auto& [child, entry] : txs) {
    if (entry.status != TxStatus::kPublished) continue;
    for (const std::size_t i : entry.input_rows)
      if (entry.tx.inputs[i].tx == id) return true;
  }
  return false;
}

ModelWallet::Answer ModelWallet::publish_ancestors(const MadeTx& tx) {
  while (const auto parent = pending_parent(tx)) {
    if (const auto code = publish_ancestors(txs.at(*parent).tx)) return code;
    if (const auto code = publish_entry(*parent, false, false)) return code;
  }
  return {};
}

std::set<Hash256> ModelWallet::descendants(const Hash256& root) const {
  std::set<Hash256> found;
  std::vector<Hash256> queue = {root};
  while (!queue.empty()) {
    const Hash256 parent = queue.back();
    queue.pop_back();
    for (const auto& [id, entry] : txs) {
      if (!is_active(entry.status) || id == root || found.contains(id)) continue;
      if (entry.height && !entry.user_confirmed) continue;
      for (const std::size_t i : entry.input_rows)
        if (entry.tx.inputs[i].tx == parent && found.insert(id).second) queue.push_back(id);
    }
  }
  return found;
}

void ModelWallet::add_coins(Entry& entry) {
  for (std::uint32_t i = 0; i < entry.tx.outputs.size(); ++i) {
    if (!scripts.contains(entry.tx.outputs[i].script)) continue;
    if (const auto gone = pruned.find(entry.tx.id); gone != pruned.end())
      if (gone->second.outputs.contains(i)) continue;
    if (!entry.coins.insert(i).second) continue;
    for (auto& [id, other] : txs)
      for (const std::size_t input : other.input_rows)
        if (other.tx.inputs[input] == chain::Outpoint{entry.tx.id, i})
          other.amounts[input] = entry.tx.outputs[i].amount;
  }
}

ModelWallet::Entry& ModelWallet::add(const MadeTx& tx, TxStatus status) {
  Entry entry;
  entry.tx = tx;
  entry.order = next_order++;
  entry.status = status;
  entry.changed_at = now;
  entry.received_height = tip;
  for (std::size_t i = 0; i < tx.inputs.size(); ++i) {
    entry.input_rows.insert(i);
    if (has_coin(tx.inputs[i])) entry.amounts[i] = amount(tx.inputs[i]);
  }
  return txs[tx.id] = std::move(entry);
}

void ModelWallet::set(Entry& entry, TxStatus status, std::string reason) {
  entry.status = status;
  entry.reason = std::move(reason);
  entry.changed_at = now;
  if (!is_active(status))
    entry.height.reset(), entry.in_mempool = false, entry.user_confirmed = false;
}

bool ModelWallet::invalidate(const std::vector<Loser>& losers,
                             const std::optional<Hash256>& winner) {
  std::set<Hash256> children;
  for (const Loser& loser : losers)
    for (const Hash256& id : descendants(loser.id)) children.insert(id);
  for (const Loser& loser : losers) children.erase(loser.id);
  if (winner && children.contains(*winner)) return false;
  for (const Loser& loser : losers) {
    set(txs.at(loser.id), loser.to, loser.reason);
    if (winner) edges.insert({loser.id, *winner});
  }
  for (const Hash256& id : children) set(txs.at(id), TxStatus::kFailed, "parent_invalid");
  return true;
}

bool ModelWallet::concerns(const MadeTx& tx) const {
  if (pruned.contains(tx.id)) return true;
  for (const Pay& pay : tx.outputs)
    if (scripts.contains(pay.script)) return true;
  for (const chain::Outpoint& input : tx.inputs) {
    if (has_coin(input)) return true;
    for (const auto& [id, entry] : txs)
      if (names(entry, input)) return true;
  }
  return false;
}

bool ModelWallet::pays_too_much(const MadeTx& tx) const {
  if (tx.coinbase || txs.contains(tx.id)) return false;
  std::uint64_t spent = 0, paid = 0;
  for (const chain::Outpoint& input : tx.inputs) {
    if (!has_coin(input)) return false;
    spent += amount(input);
  }
  for (const Pay& pay : tx.outputs) paid += pay.amount;
  return paid > spent;
}

bool ModelWallet::spends_immature(const MadeTx& tx) const {
  for (const chain::Outpoint& input : tx.inputs) {
    const auto parent = txs.find(input.tx);
    if (parent != txs.end() && parent->second.tx.coinbase && parent->second.height &&
        tip - static_cast<std::int64_t>(*parent->second.height) < 100)
      return true;
  }
  return false;
}

ModelWallet::Answer ModelWallet::record_pending(const MadeTx& tx, bool bump,
                                                const std::optional<LockId>& lock, bool force) {
  if (!concerns(tx)) return Code::kInvalidInput;
  if (tx.coinbase) return Code::kInvalidInput;
  const auto known = txs.find(tx.id);
  if (known == txs.end() && pruned.contains(tx.id)) return {};
  if (known != txs.end() && is_active(known->second.status)) {
    if (!known->second.stub) add_coins(known->second);
    return {};
  }
  if (pays_too_much(tx)) return Code::kInvalidInput;
  if (!force && spends_immature(tx)) return Code::kConflict;
  const ModelWallet before = *this;
  const auto refuse = [&] {
    *this = before;
    return Code::kConflict;
  };
  Entry& entry = known == txs.end() ? add(tx, TxStatus::kPending) : known->second;
  if (has_invalid_parent(tx) || has_published_child(tx.id)) return refuse();
  for (const Hash256& id : conflicts(tx))
    if (txs.at(id).height || !bump) return refuse();
  if (known != txs.end()) set(entry, TxStatus::kPending, "");
  for (const chain::Outpoint& input : tx.inputs) {
    if (force || !has_coin(input)) continue;
    const auto lease = active_lease(input);
    if (lease && !(lock && lease->lock_id == *lock)) return refuse();
  }
  add_coins(entry);
  return {};
}

ModelWallet::Answer ModelWallet::publish_entry(Hash256 id, bool is_new, bool from_network) {
  Entry& entry = txs.at(id);
  const bool was_invalid = !is_new && !is_active(entry.status);
  if (was_invalid) {
    for (const Hash256& other : conflicts(entry.tx))
      if (txs.at(other).status == TxStatus::kPublished) return {};
    if (has_invalid_parent(entry.tx)) return {};
  }
  if (from_network) {
    if (const auto code = publish_ancestors(entry.tx)) return code;
    if (!was_invalid && !is_active(entry.status)) return Code::kConflict;
  } else if (pending_parent(entry.tx)) {
    return Code::kConflict;
  }
  std::vector<Loser> losers;
  for (const Hash256& other : conflicts(entry.tx)) {
    if (txs.at(other).height) return Code::kConflict;
    if (txs.at(other).status == TxStatus::kPublished)
      losers.push_back({other, TxStatus::kReplaced, "replaced"});
    else
      losers.push_back({other, TxStatus::kFailed, "double_spent"});
  }
  if (has_invalid_parent(entry.tx)) return Code::kConflict;
  if (!is_new) set(entry, TxStatus::kPublished, "");
  if (!invalidate(losers, id)) return Code::kConflict;
  return {};
}

ModelWallet::Answer ModelWallet::record_published(const MadeTx& tx, bool in_mempool) {
  if (!concerns(tx) || tx.coinbase) return Code::kInvalidInput;
  const auto known = txs.find(tx.id);
  if (known == txs.end() && pruned.contains(tx.id)) return {};
  if (known != txs.end() && known->second.stub) return {};
  if (!in_mempool && pays_too_much(tx)) return Code::kInvalidInput;
  const ModelWallet before = *this;
  const bool is_new = known == txs.end();
  if (is_new) add(tx, TxStatus::kPublished);
  Answer refused;
  if (is_new || known->second.status != TxStatus::kPublished)
    refused = publish_entry(tx.id, is_new, in_mempool);
  else if (in_mempool)
    refused = publish_ancestors(tx);
  if (refused) {
    *this = before;
    return refused;
  }
  Entry& entry = txs.at(tx.id);
  if (in_mempool && entry.status == TxStatus::kPublished && !entry.height) entry.in_mempool = true;
  add_coins(entry);
  return {};
}

bool ModelWallet::confirm(const MadeTx& tx, Where where, bool user_confirmed) {
  const bool is_new = !txs.contains(tx.id);
  Entry& entry = is_new ? add(tx, TxStatus::kPublished) : txs.at(tx.id);
  if (is_new) entry.received_height = static_cast<std::int64_t>(where.height);
  entry.status = TxStatus::kPublished;
  entry.reason.clear();
  entry.changed_at = now;
  entry.in_mempool = false;
  entry.height = where.height;
  entry.place = where.place;
  entry.user_confirmed = user_confirmed;
  std::vector<Loser> losers;
  for (const Hash256& other : conflicts(tx))
    losers.push_back({other, TxStatus::kFailed, "double_spent"});
  if (!invalidate(losers, tx.id)) return false;
  add_coins(entry);
  return true;
}

void ModelWallet::connect(const MadeTx& tx, Where where) {
  if (!concerns(tx)) return;
  const auto known = txs.find(tx.id);
  if (pruned.contains(tx.id)) return add_coins_of_pruned(tx, where);
  if (known != txs.end() && known->second.height == where.height) {
    known->second.user_confirmed = false;
    known->second.place = where.place;
    return add_coins(known->second);
  }
  (void)confirm(tx, where, false);
  if (!pending_parent(tx)) return;
  const ModelWallet before = *this;
  if (publish_ancestors(tx)) *this = before;
}

ModelWallet::Answer ModelWallet::record_confirmed(const MadeTx& tx, Where where) {
  if (!concerns(tx)) return Code::kInvalidInput;
  const auto known = txs.find(tx.id);
  if (const auto gone = pruned.find(tx.id); gone != pruned.end()) {
    if (gone->second.height != where.height) return Code::kConflict;
    add_coins_of_pruned(tx, where);
    return {};
  }
  if (known != txs.end() && known->second.height) {
    if (*known->second.height != where.height) return Code::kConflict;
    add_coins(known->second);
    return {};
  }
  if (pays_too_much(tx)) return Code::kInvalidInput;
  for (const Hash256& other : conflicts(tx))
    if (txs.at(other).height) return Code::kConflict;
  // Its own inputs are known to the wallet by the time that is asked.
  const ModelWallet before = *this;
  if (known == txs.end()) add(tx, TxStatus::kPublished);
  const bool invalid = has_invalid_parent(tx) || pending_parent(tx).has_value();
  *this = before;
  if (invalid) return Code::kConflict;
  if (confirm(tx, where, true)) return {};
  *this = before;
  return Code::kConflict;
}

void ModelWallet::disconnect_above(std::int64_t height) {
  std::vector<Hash256> orphans;
  for (auto& [id, entry] : txs) {
    if (!entry.height || static_cast<std::int64_t>(*entry.height) <= height) continue;
    entry.height.reset();
    entry.in_mempool = false;
    if (!entry.tx.coinbase) continue;
    set(entry, TxStatus::kOrphaned, "reorganised");
    orphans.push_back(id);
  }
  for (const Hash256& orphan : orphans)
    for (const Hash256& id : descendants(orphan))
      set(txs.at(id), TxStatus::kFailed, "parent_invalid");
}

void ModelWallet::drop(const Hash256& id) {
  if (const auto found = txs.find(id); found != txs.end()) found->second.in_mempool = false;
}

ModelWallet::Answer ModelWallet::publish(const Hash256& id) {
  const auto found = txs.find(id);
  if (found == txs.end()) return Code::kNotFound;
  if (found->second.status == TxStatus::kPublished) return {};
  if (found->second.status != TxStatus::kPending) return Code::kConflict;
  const ModelWallet before = *this;
  const auto code = publish_entry(id, false, false);
  if (code) *this = before;
  return code;
}

ModelWallet::Answer ModelWallet::cancel(const Hash256& id) {
  const auto found = txs.find(id);
  if (found == txs.end()) return Code::kNotFound;
  Entry& entry = found->second;
  if (entry.status == TxStatus::kFailed && entry.reason == "cancelled") return {};
  if (entry.status != TxStatus::kPending) return Code::kConflict;
  if (has_published_child(id)) return Code::kConflict;
  const std::set<Hash256> children = descendants(id);
  set(entry, TxStatus::kFailed, "cancelled");
  for (const Hash256& child : children) set(txs.at(child), TxStatus::kFailed, "parent_invalid");
  return {};
}

}  // namespace coffer::wallet::test
