// The model of leases, of pruning, and of what is found after it.
#include "wallet/support/model.h"

namespace coffer::wallet::test {

std::optional<Lease> ModelWallet::active_lease(const chain::Outpoint& outpoint) const {
  const auto found = leases.find(outpoint);
  if (found == leases.end() || found->second.expires_at_ms <= now) return std::nullopt;
  return found->second;
}

std::vector<chain::Outpoint> ModelWallet::all_coins() const {
  std::vector<chain::Outpoint> list;
  for (const auto& [id, entry] : txs)
    for (const std::uint32_t index : entry.coins) list.push_back({id, index});
  return list;
}

bool ModelWallet::is_older(const Hash256& a, const Hash256& b) const {
  const Entry &left = txs.at(a), &right = txs.at(b);
  const auto waits = [](const Entry& e) { return is_active(e.status) && !e.height; };
  if (waits(left) != waits(right)) return waits(right);
  if (waits(left)) return left.order < right.order;
  const auto height = [](const Entry& e) {
    return e.height ? static_cast<std::int64_t>(*e.height) : e.received_height;
  };
  if (height(left) != height(right)) return height(left) < height(right);
  if (left.height.has_value() != right.height.has_value()) return left.height.has_value();
  if (left.height && left.place != right.place) return left.place < right.place;
  return left.order < right.order;
}

std::vector<Hash256> ModelWallet::by_age() const {
  std::vector<Hash256> list;
  list.reserve(txs.size());
  for (const auto& [id, entry] : txs) list.push_back(id);
  std::ranges::sort(list, [&](const Hash256& a, const Hash256& b) { return is_older(a, b); });
  return list;
}

std::vector<chain::Outpoint> ModelWallet::coins_by_age() const {
  std::vector<chain::Outpoint> list;
  for (const Hash256& id : by_age())
    for (const std::uint32_t index : txs.at(id).coins) list.push_back({id, index});
  return list;
}

Balance ModelWallet::balance() const {
  Balance b;
  b.tip_height = tip;
  for (const chain::Outpoint& coin : all_coins()) {
    const CoinState its = state(coin);
    const std::uint64_t value = amount(coin);
    const bool counts =
        its == CoinState::kConfirmed || its == CoinState::kUnconfirmed ||
        its == CoinState::kImmature ||
        (its == CoinState::kLocked && txs.at(coin.tx).status == TxStatus::kPublished);
    if (!counts) continue;
    ++b.coins;
    b.total += value;
    if (its == CoinState::kConfirmed) b.confirmed += value;
    if (its == CoinState::kUnconfirmed) b.unconfirmed += value;
    if (its == CoinState::kImmature) b.immature += value;
    if (its == CoinState::kLocked) b.locked += value;
    const bool leased = active_lease(coin).has_value();
    if (leased && (its == CoinState::kConfirmed || its == CoinState::kUnconfirmed))
      b.leased += value;
    if (!leased && its == CoinState::kConfirmed) b.spendable += value;
  }
  return b;
}

ModelWallet::Answer ModelWallet::lease(const std::vector<chain::Outpoint>& coins,
                                       const LockId& lock, std::int64_t for_ms) {
  for (const chain::Outpoint& coin : coins)
    if (!has_coin(coin)) return Code::kNotFound;
  if (std::set(coins.begin(), coins.end()).size() != coins.size()) return Code::kInvalidInput;
  for (const chain::Outpoint& coin : coins) {
    const CoinState its = state(coin);
    if (its != CoinState::kConfirmed && its != CoinState::kUnconfirmed &&
        its != CoinState::kPending)
      return Code::kConflict;
    const auto held = active_lease(coin);
    if (held && held->lock_id != lock) return Code::kConflict;
  }
  for (const chain::Outpoint& coin : coins) hold(coin, lock, now + for_ms);
  return {};
}

void ModelWallet::hold(const chain::Outpoint& coin, const LockId& lock, std::int64_t until) {
  const auto held = active_lease(coin);
  leases[coin] = {lock, held ? std::max(held->expires_at_ms, until) : until};
}

ModelWallet::Selection ModelWallet::select(const LeaseSelection& selection) const {
  Selection chosen;
  std::vector<chain::Outpoint> free;
  std::uint64_t sum = 0;
  for (const chain::Outpoint& coin : all_coins()) {
    const CoinState its = state(coin);
    const bool may_wait = its == CoinState::kUnconfirmed || its == CoinState::kPending;
    if (its != CoinState::kConfirmed && !(selection.chain_pending && may_wait)) continue;
    const auto held = active_lease(coin);
    if (!held) free.push_back(coin);
    if (!held || held->lock_id != selection.lock_id) continue;
    chosen.coins.push_back(coin);
    sum += amount(coin);
  }
  std::ranges::sort(free, {}, [&](const chain::Outpoint& coin) { return amount(coin); });
  if (selection.order == CoinOrder::kLargest) std::ranges::reverse(free);
  std::size_t taken = 0;
  for (; taken < free.size() && sum < selection.amount; ++taken) {
    sum += amount(free[taken]);
    chosen.coins.push_back(free[taken]);
  }
  if (sum < selection.amount) return {};
  chosen.is_clear =
      taken == 0 || taken == free.size() || amount(free[taken - 1]) != amount(free[taken]);
  std::ranges::sort(chosen.coins);
  return chosen;
}

ModelWallet::Answer ModelWallet::renew(const std::vector<chain::Outpoint>& coins,
                                       const LockId& lock, std::int64_t for_ms) {
  for (const chain::Outpoint& coin : coins)
    if (!has_coin(coin)) return Code::kNotFound;
  if (std::set(coins.begin(), coins.end()).size() != coins.size()) return Code::kInvalidInput;
  for (const chain::Outpoint& coin : coins) {
    const auto held = active_lease(coin);
    if (!held || held->lock_id != lock) return Code::kConflict;
  }
  for (const chain::Outpoint& coin : coins) hold(coin, lock, now + for_ms);
  return {};
}

ModelWallet::Answer ModelWallet::release(const std::vector<chain::Outpoint>& coins,
                                         const LockId& lock) {
  for (const chain::Outpoint& coin : coins)
    if (!has_coin(coin)) return Code::kNotFound;
  if (std::set(coins.begin(), coins.end()).size() != coins.size()) return Code::kInvalidInput;
  for (const chain::Outpoint& coin : coins) {
    const auto held = active_lease(coin);
    if (held && held->lock_id != lock) return Code::kConflict;
  }
  for (const chain::Outpoint& coin : coins) leases.erase(coin);
  return {};
}

void ModelWallet::clean_leases() {
  std::erase_if(leases, [&](const auto& lease) { return lease.second.expires_at_ms <= now; });
}

void ModelWallet::add_coins_of_pruned(const MadeTx& tx, Where where) {
  std::vector<chain::Outpoint> spends;
  for (const chain::Outpoint& input : tx.inputs)
    if (has_coin(input) && !stub_spends.contains(input)) spends.push_back(input);
  bool pays = false;
  for (std::uint32_t i = 0; i < tx.outputs.size(); ++i)
    if (scripts.contains(tx.outputs[i].script) && !pruned.at(tx.id).outputs.contains(i))
      pays = true;
  if (spends.empty() && !pays) return;
  if (!txs.contains(tx.id)) {
    Entry& made = add(tx, TxStatus::kPublished);
    made.height = where.height;
    made.place = where.place;
    made.received_height = static_cast<std::int64_t>(where.height);
    made.stub = true;
    made.input_rows.clear();
    made.amounts.clear();
  }
  std::vector<Loser> losers;
  for (const auto& [id, entry] : txs)
    if (is_active(entry.status) &&
        std::any_of(spends.begin(), spends.end(),
                    [&, &other = entry](const auto& outpoint) { return names(other, outpoint); }))
      losers.push_back({id, TxStatus::kFailed, "double_spent"});
  (void)invalidate(losers, tx.id);
  for (const chain::Outpoint& outpoint : spends) {
    stub_spends[outpoint] = tx.id;
    pruned_totals.spent += amount(outpoint);
  }
  add_coins(txs.at(tx.id));
}

void ModelWallet::prune(std::optional<std::int64_t> invalid_older_than_ms) {
  const auto deep = [&](const Entry& entry) {
    return entry.height && !entry.user_confirmed &&
           static_cast<std::int64_t>(*entry.height + prune_window) <= tip;
  };
  std::vector<Hash256> going;
  for (const auto& [id, entry] : txs) {
    if ((entry.stub && entry.coins.empty()) || !deep(entry)) continue;
    const bool all_spent = std::all_of(entry.coins.begin(), entry.coins.end(),
                                       [&, &tx = id](const std::uint32_t index) {
                                         const auto by = spender({tx, index});
                                         return by && deep(txs.at(*by));
                                       });
    if (all_spent) going.push_back(id);
  }
  std::map<chain::Outpoint, std::uint64_t> spent_at;
  for (const Hash256& id : going)
    for (const std::uint32_t index : txs.at(id).coins)
      spent_at[{id, index}] = *txs.at(*spender({id, index})).height;
  // Who spends what is remembered before the inputs are forgotten.
  std::map<chain::Outpoint, Hash256> spends = stub_spends;
  for (const chain::Outpoint& coin : all_coins())
    if (const auto by = spender(coin))
      if (std::find(going.begin(), going.end(), *by) != going.end()) spends[coin] = *by;
  for (const Hash256& id : going) {
    Entry& entry = txs.at(id);
    if (!entry.stub) ++pruned_totals.transactions;
    Pruned& gone = pruned[id];
    gone.height = *entry.height;
    gone.fixed = std::max(gone.fixed, gone.height);
    for (const std::uint32_t index : entry.coins) {
      gone.outputs.insert(index);
      gone.fixed = std::max(gone.fixed, spent_at.at({id, index}));
    }
    pruned_totals.coins += entry.coins.size();
    for (const std::uint32_t index : entry.coins) {
      pruned_totals.received += entry.tx.outputs[index].amount;
      spends.erase({id, index});
      leases.erase({id, index});
    }
    for (const auto& [input, value] : entry.amounts) pruned_totals.spent += value;
    entry.coins.clear();
    entry.input_rows.clear();
    entry.amounts.clear();
    entry.stub = true;
  }
  stub_spends = std::move(spends);
  std::erase_if(txs, [&](const auto& tx) {
    if (!tx.second.stub || !tx.second.coins.empty()) return false;
    const bool named = std::any_of(stub_spends.begin(), stub_spends.end(),
                                   [&](const auto& spend) { return spend.second == tx.first; });
    if (!named)
      std::erase_if(edges, [&](const auto& edge) {
        return edge.first == tx.first || edge.second == tx.first;
      });
    return !named;
  });
  if (!invalid_older_than_ms) return;
  std::vector<Hash256> old;
  for (const auto& [id, entry] : txs) {
    if (is_active(entry.status) || entry.changed_at > now - *invalid_older_than_ms) continue;
    const bool held = std::any_of(
        entry.coins.begin(), entry.coins.end(),
        [&, &tx = id](const std::uint32_t index) { return spender({tx, index}).has_value(); });
    if (!held) old.push_back(id);
  }
  for (const Hash256& id : old) {
    for (const std::uint32_t index : txs.at(id).coins) leases.erase({id, index});
    txs.erase(id);
    std::erase_if(edges, [&](const auto& edge) { return edge.first == id || edge.second == id; });
  }
}

}  // namespace coffer::wallet::test
