// The books of a simulated chain: confirmed coins, a mempool on top of them, and how to go back.
// Invariants: spendable() is what confirmed coins and mempool outputs leave unspent; every mempool
// transaction's inputs are confirmed coins or outputs of an earlier one.
// Deterministic: the same calls give the same order of everything.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include <coffer/chain/block.h>
#include "base/random.h"

namespace coffer::feed {

struct DevAsset {
  Hash224 policy{};
  Bytes name;
  std::uint64_t quantity = 0;
};

struct DevCoin {
  chain::Outpoint outpoint{};
  std::uint64_t value = 0;
  std::uint32_t owner = 0;
  std::uint8_t kind = 0;            // the flavour's own: which script or address form
  std::uint64_t mature_height = 0;  // the first block that may spend it
  std::vector<DevAsset> assets{};
};

struct DevTx {
  Hash256 id{};
  Bytes wire;             // as relayed
  Bytes body, witnesses;  // Cardano: the parts that a block stores apart
  bool valid = true;
  std::uint64_t fee = 0;
  std::vector<chain::Outpoint> spends;  // what it really takes: collateral if it is invalid
  std::vector<DevCoin> creates;         // what can be spent again
};
using DevTxPtr = std::shared_ptr<const DevTx>;

// Coins with constant-time lookup, removal and random choice.
class CoinSet {
 public:
  void add(DevCoin coin);
  std::optional<DevCoin> take(const chain::Outpoint& outpoint);
  const DevCoin* find(const chain::Outpoint& outpoint) const;
  std::size_t size() const { return coins_.size(); }
  const DevCoin& operator[](std::size_t index) const { return coins_[index]; }

 private:
  std::vector<DevCoin> coins_;
  std::unordered_map<chain::Outpoint, std::size_t, chain::OutpointHash> where_;
};

class DevnetLedger {
 public:
  // Blocks that can be undone.
  explicit DevnetLedger(std::size_t undo_depth) : undo_depth_(undo_depth) {}

  // The height the next block will have.
  std::uint64_t next_height() const { return next_height_; }
  const CoinSet& spendable() const { return spendable_; }
  const std::vector<DevTxPtr>& mempool() const { return mempool_; }
  std::size_t undoable() const { return undo_.size(); }

  void add_genesis_coin(DevCoin coin);

  // Into the mempool; its inputs must be spendable.
  void accept(DevTxPtr tx);
  // Out of the mempool, with everything built on it; the ids dropped, the given one first.
  std::vector<Hash256> drop(const Hash256& id);
  // The mempool transactions that a transaction would push out, without their descendants.
  std::vector<Hash256> conflicts(const std::vector<chain::Outpoint>& spends) const;

  // A block of the first `count` mempool transactions and the coins that its coinbase creates.
  std::vector<DevTxPtr> first(std::size_t count) const;
  void mine(std::size_t count, std::vector<DevCoin> coinbase);

  // Undoes the last `depth` blocks. Their transactions go back to the front of the mempool; those
  // that no longer stand are dropped, and their ids returned.
  std::vector<Hash256> undo(std::size_t depth);

 private:
  struct Undo {
    std::vector<DevTxPtr> txs;
    std::vector<DevCoin> spent;
    std::vector<chain::Outpoint> created;
  };
  bool can_accept(const DevTx& tx) const;
  void rebuild_spendable();

  const std::size_t undo_depth_;
  std::uint64_t next_height_ = 0;
  CoinSet confirmed_, spendable_;
  std::vector<DevTxPtr> mempool_;
  std::deque<Undo> undo_;
  std::deque<std::pair<std::uint64_t, chain::Outpoint>> maturing_;
};

}  // namespace coffer::feed
