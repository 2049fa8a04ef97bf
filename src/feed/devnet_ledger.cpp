#include "feed/devnet_ledger.h"

#include "base/check.h"

namespace coffer::feed {

void CoinSet::add(DevCoin coin) {
  const bool inserted = where_.emplace(coin.outpoint, coins_.size()).second;
  CHECK(inserted);
  coins_.push_back(std::move(coin));
}

std::optional<DevCoin> CoinSet::take(const chain::Outpoint& outpoint) {
  auto found = where_.find(outpoint);
  if (found == where_.end()) return std::nullopt;
  const std::size_t index = found->second;
  where_.erase(found);
  DevCoin coin = std::move(coins_[index]);
  if (index + 1 != coins_.size()) {
    coins_[index] = std::move(coins_.back());
    where_[coins_[index].outpoint] = index;
  }
  coins_.pop_back();
  return coin;
}

const DevCoin* CoinSet::find(const chain::Outpoint& outpoint) const {
  auto found = where_.find(outpoint);
  return found == where_.end() ? nullptr : &coins_[found->second];
}

void DevnetLedger::add_genesis_coin(DevCoin coin) {
  spendable_.add(coin);
  confirmed_.add(std::move(coin));
}

bool DevnetLedger::can_accept(const DevTx& tx) const {
  for (const auto& outpoint : tx.spends)
    if (spendable_.find(outpoint) == nullptr) return false;
  return true;
}

void DevnetLedger::accept(DevTxPtr tx) {
  CHECK(can_accept(*tx));
  for (const auto& outpoint : tx->spends) spendable_.take(outpoint);
  for (const DevCoin& coin : tx->creates) spendable_.add(coin);
  mempool_.push_back(std::move(tx));
}

std::vector<Hash256> DevnetLedger::drop(const Hash256& id) {
  std::vector<Hash256> gone;
  std::vector<DevTxPtr> kept;
  std::unordered_map<Hash256, bool, HashOfHash> dropped;
  // Parents come before children, so one pass finds all descendants.
  for (const DevTxPtr& tx : mempool_) {
    bool goes = tx->id == id;
    for (const auto& outpoint : tx->spends) goes = goes || dropped.contains(outpoint.tx);
    if (goes) {
      dropped[tx->id] = true;
      gone.push_back(tx->id);
    } else {
      kept.push_back(tx);
    }
  }
  mempool_ = std::move(kept);
  rebuild_spendable();
  return gone;
}

std::vector<Hash256> DevnetLedger::conflicts(const std::vector<chain::Outpoint>& spends) const {
  std::vector<Hash256> found;
  for (const DevTxPtr& tx : mempool_)
    for (const auto& outpoint : tx->spends)
      if (std::find(spends.begin(), spends.end(), outpoint) != spends.end()) {
        found.push_back(tx->id);
        break;
      }
  return found;
}

std::vector<DevTxPtr> DevnetLedger::first(std::size_t count) const {
  return {mempool_.begin(), mempool_.begin() + static_cast<std::ptrdiff_t>(count)};
}

void DevnetLedger::mine(std::size_t count, std::vector<DevCoin> coinbase) {
  Undo undo;
  undo.txs = first(count);
  mempool_.erase(mempool_.begin(), mempool_.begin() + static_cast<std::ptrdiff_t>(count));
  for (const DevTxPtr& tx : undo.txs) {
    for (const auto& outpoint : tx->spends) {
      auto coin = confirmed_.take(outpoint);
      CHECK(coin.has_value());
      undo.spent.push_back(std::move(*coin));
    }
    for (const DevCoin& coin : tx->creates) {
      confirmed_.add(coin);
      undo.created.push_back(coin.outpoint);
    }
  }
  ++next_height_;
  for (DevCoin& coin : coinbase) {
    undo.created.push_back(coin.outpoint);
    maturing_.emplace_back(coin.mature_height, coin.outpoint);
    confirmed_.add(std::move(coin));
  }
  for (; !maturing_.empty() && maturing_.front().first <= next_height_; maturing_.pop_front())
    if (const DevCoin* coin = confirmed_.find(maturing_.front().second)) spendable_.add(*coin);
  undo_.push_back(std::move(undo));
  if (undo_.size() > undo_depth_) undo_.pop_front();
}

std::vector<Hash256> DevnetLedger::undo(std::size_t depth) {
  CHECK(depth <= undo_.size());
  std::vector<DevTxPtr> returning = std::move(mempool_);
  for (; depth > 0; --depth) {
    Undo last = std::move(undo_.back());
    undo_.pop_back();
    // A coin created and spent in the same block is in both lists: put back first, then remove.
    for (DevCoin& coin : last.spent) confirmed_.add(std::move(coin));
    for (const auto& outpoint : last.created) {
      CHECK(confirmed_.take(outpoint).has_value());
    }
    returning.insert(returning.begin(), last.txs.begin(), last.txs.end());
    --next_height_;
  }
  mempool_.clear();
  rebuild_spendable();
  std::vector<Hash256> lost;
  for (DevTxPtr& tx : returning) {
    if (can_accept(*tx))
      accept(std::move(tx));
    else
      lost.push_back(tx->id);
  }
  return lost;
}

void DevnetLedger::rebuild_spendable() {
  spendable_ = CoinSet();
  maturing_.clear();
  for (std::size_t i = 0; i < confirmed_.size(); ++i) {
    const DevCoin& coin = confirmed_[i];
    if (coin.mature_height <= next_height_)
      spendable_.add(coin);
    else
      maturing_.emplace_back(coin.mature_height, coin.outpoint);
  }
  std::sort(maturing_.begin(), maturing_.end());
  std::vector<DevTxPtr> again = std::move(mempool_);
  mempool_.clear();
  for (DevTxPtr& tx : again) accept(std::move(tx));
}

}  // namespace coffer::feed
