// The wallet's rules once more, as plainly as they can be said: maps in memory, everything computed
// by looking at everything. What the store does must look the same.
#pragma once

#include <map>
#include <set>

#include <coffer/wallet/store.h>
#include "wallet/support/tx_builder.h"

namespace coffer::wallet::test {

class ModelWallet {
 public:
  struct Entry {
    MadeTx tx;
    std::uint64_t order = 0;  // in which the wallet met it
    TxStatus status = TxStatus::kPending;
    std::optional<std::uint64_t> height;
    std::uint32_t place = 0;           // in its block
    std::int64_t received_height = 0;  // the tip when the wallet met it, or its block
    std::string reason;
    bool in_mempool = false;
    bool stub = false;
    bool user_confirmed = false;  // only a person says that it is in its block
    std::int64_t changed_at = 0;
    std::set<std::uint32_t> coins;  // indexes of outputs that are this wallet's
    // Of inputs: the amount of this wallet's coin, once it was known.
    std::map<std::size_t, std::uint64_t> amounts;
    std::set<std::size_t> input_rows;  // which inputs are still known: all, or none of a stub
  };
  struct Totals {
    std::uint64_t transactions = 0, coins = 0, received = 0, spent = 0;
    friend bool operator==(const Totals&, const Totals&) = default;
  };

  std::set<Bytes> scripts;
  std::map<Hash256, Entry> txs;
  std::set<std::pair<Hash256, Hash256>> edges;  // replaced, replacement
  std::map<chain::Outpoint, Lease> leases;
  struct Pruned {
    std::uint64_t height = 0;
    std::uint64_t fixed = 0;          // the highest block that cannot be undone any more
    std::set<std::uint32_t> outputs;  // the coins that went with it
  };
  std::map<Hash256, Pruned> pruned;
  Totals pruned_totals;
  // Who spends a coin whose spender is a stub: its inputs are not known any more.
  std::map<chain::Outpoint, Hash256> stub_spends;
  std::uint64_t next_order = 1;

  // The clock and the tip, which all wallets share.
  std::int64_t now = 0;
  std::int64_t tip = -1;
  std::uint64_t prune_window = 288;

  // Operations: nothing, or the code of the error. After an error nothing has changed.
  using Answer = std::optional<Code>;
  Answer record_pending(const MadeTx& tx, bool bump, const std::optional<LockId>& lock, bool force);
  Answer record_published(const MadeTx& tx, bool in_mempool);
  // Where a transaction is: in which block, and there at which place.
  struct Where {
    std::uint64_t height = 0;
    std::uint32_t place = 0;
  };
  Answer record_confirmed(const MadeTx& tx, Where where);
  void connect(const MadeTx& tx, Where where);
  void disconnect_above(std::int64_t height);
  void drop(const Hash256& id);
  Answer publish(const Hash256& id);
  Answer cancel(const Hash256& id);
  Answer lease(const std::vector<chain::Outpoint>& coins, const LockId& lock, std::int64_t for_ms);
  // Never to an earlier end than it has.
  void hold(const chain::Outpoint& coin, const LockId& lock, std::int64_t until);
  struct Selection {
    std::vector<chain::Outpoint> coins;  // in the order of outpoints; none if there is not enough
    bool is_clear = true;                // false: which of several with one amount is not said
  };
  Selection select(const LeaseSelection& selection) const;
  Answer renew(const std::vector<chain::Outpoint>& coins, const LockId& lock, std::int64_t for_ms);
  Answer release(const std::vector<chain::Outpoint>& coins, const LockId& lock);
  void clean_leases();
  void prune(std::optional<std::int64_t> invalid_older_than_ms);

  bool concerns(const MadeTx& tx) const;  // the follower would bring it here
  bool has_coin(const chain::Outpoint& outpoint) const;
  std::uint64_t amount(const chain::Outpoint& outpoint) const;
  CoinState state(const chain::Outpoint& outpoint) const;
  std::optional<Hash256> spender(const chain::Outpoint& outpoint) const;
  std::optional<Lease> active_lease(const chain::Outpoint& outpoint) const;
  std::vector<chain::Outpoint> all_coins() const;
  // By age, the oldest first: in blocks by the chain, then what waits for one. What became invalid
  // stands after the block that was the tip when the wallet met it.
  bool is_older(const Hash256& a, const Hash256& b) const;
  std::vector<Hash256> by_age() const;
  std::vector<chain::Outpoint> coins_by_age() const;
  Balance balance() const;

 private:
  bool names(const Entry& entry, const chain::Outpoint& outpoint) const;
  std::vector<Hash256> conflicts(const MadeTx& tx) const;
  bool pays_too_much(const MadeTx& tx) const;  // new, and all that it spends is known
  bool spends_immature(const MadeTx& tx) const;
  bool has_invalid_parent(const MadeTx& tx) const;
  std::optional<Hash256> pending_parent(const MadeTx& tx) const;
  bool has_published_child(const Hash256& id) const;
  // Those that are pending, parents before children.
  Answer publish_ancestors(const MadeTx& tx);
  std::set<Hash256> descendants(const Hash256& root) const;
  void add_coins(Entry& entry);
  Entry& add(const MadeTx& tx, TxStatus status);
  void set(Entry& entry, TxStatus status, std::string reason);
  struct Loser {
    Hash256 id;
    TxStatus to;
    std::string reason;
  };
  // False: the winner is among the descendants.
  bool invalidate(const std::vector<Loser>& losers, const std::optional<Hash256>& winner);
  Answer publish_entry(Hash256 id, bool is_new, bool from_network);
  bool confirm(const MadeTx& tx, Where where, bool user_confirmed);
  // It was pruned: only what has become the wallet's since is new.
  void add_coins_of_pruned(const MadeTx& tx, Where where);
};

}  // namespace coffer::wallet::test
