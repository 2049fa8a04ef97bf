// The transactions that still matter: those with an unspent output, those that a reorganisation may
// still need, and those that no block has yet. A fully spent transaction goes once every child that
// spends it is final (X1), and only then.
//
// One implementation of the rules over three databases: RocksDB, SQLite, PostgreSQL.
// States of a transaction (docs/txstore.md): unmined → mined → deleted; unmined ⇄ conflicting →
// deleted; mined → unmined by a rollback. Invariants, after every commit:
//   - an entry that says spent names a stored child that is not conflicting, or is final;
//   - the counts of a record are those of its entries; its due entry is in the index of due ones;
//   - every block in the window has its list, and undoing them leads back.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <coffer/bus/consumer.h>
#include <coffer/chain/genesis.h>
#include <coffer/chain/network.h>
#include <coffer/kv/database.h>
#include <coffer/sql/database.h>
#include <coffer/txstore/types.h>

namespace coffer::txstore {

class Backend;
class Consumer;

// RocksDB: the columns to open.
std::vector<kv::ColumnOptions> columns();

struct CounterTotals {  // since the process started
  std::uint64_t blocks = 0, rollbacks = 0, seen = 0, deleted = 0, kept = 0, children_read = 0,
                marked_final = 0, overrides = 0, parent_missing = 0, conflicted = 0, waiting = 0;
  double apply_seconds = 0, cleanup_seconds = 0, rollback_seconds = 0;
};

// Thread-safe. Every operation takes a list, is one atomic unit and answers each item by itself: an
// item that fails changes nothing, and the others go on. Doing one again changes nothing and
// answers kUnchanged. Errors of all: kUnavailable, kTimeout, kCorrupt; the codes of single items
// are in Outcome.
class Store {
 public:
  // Opens, or begins a new one. `genesis`: the outputs that the chain begins with, become records
  // without bytes. Errors also: kConflict for a database of another network (E5).
  static Result<std::unique_ptr<Store>> open(kv::Database& db, const chain::Network& network,
                                             const Options& options,
                                             std::span<const chain::GenesisUtxo> genesis);
  // The schema must be there (docs/formats/txstore.md).
  static Result<std::unique_ptr<Store>> open(sql::Database& db, const chain::Network& network,
                                             const Options& options,
                                             std::span<const chain::GenesisUtxo> genesis);
  // Only to look, beside a process that writes. Errors also: kNotFound if there is no store.
  static Result<std::unique_ptr<Store>> open_to_read(kv::Database& db,
                                                     const chain::Network& network,
                                                     const Options& options);
  static Result<std::unique_ptr<Store>> open(std::unique_ptr<Backend> backend,
                                             const chain::Network& network, const Options& options,
                                             std::span<const chain::GenesisUtxo> genesis);
  ~Store();

  const chain::Network& network() const;
  const Options& options() const;
  Backend& backend();

  // ---- transactions ----
  // kUnknownParent unless a block has it (E1) or the store did not begin at Origin (X5);
  // kDeletedChild if a parent's entry says that it was final and is deleted; kUnchanged if stored.
  Result<std::vector<ItemResult>> create(std::span<const NewTx> txs);
  Result<std::vector<std::optional<StoredTx>>> get(std::span<const Hash256> ids) const;
  // Takes all inputs of each spender or none. A spender is kNotFound if it is not stored, and
  // kConflicting if it is that.
  Result<std::vector<SpendResult>> spend(std::span<const SpendRequest> requests);
  // Gives back what the spender holds: kUnchanged for an input that it does not hold, kDeletedChild
  // for a final one, kMined for a spender that a block has.
  Result<std::vector<SpendResult>> unspend(std::span<const Hash256> spenders);
  // Mining unlocks. kConflicting: unmark it first. With longest_chain false the block is remembered
  // as one of another branch.
  Result<std::vector<ItemResult>> set_mined(std::span<const Hash256> ids, const BlockRef& block,
                                            bool longest_chain = true);
  // The block's entry stays, marked off the chain, until it is below the final height.
  Result<std::vector<ItemResult>> unset_mined(std::span<const Hash256> ids, const BlockRef& block);
  // With all descendants; their spends are given back. kMined if a block has it.
  Result<std::vector<ItemResult>> mark_conflicting(std::span<const Hash256> ids);
  // Takes its inputs again, all or none: kSpent and so on if it cannot. Descendants stay.
  Result<std::vector<ItemResult>> unmark_conflicting(std::span<const Hash256> ids);
  // Deletes what the rule allows at this tip; kKept otherwise.
  Result<std::vector<ItemResult>> remove(std::span<const Hash256> ids);

  // ---- what people do: on disk before it is answered, and carried across a rebuild ----
  Result<std::vector<ItemResult>> lock(std::span<const Hash256> ids);
  Result<std::vector<ItemResult>> unlock(std::span<const Hash256> ids);
  // kSpent for a spent output, kOutputNotFound for one that nobody can spend.
  Result<std::vector<ItemResult>> freeze(std::span<const chain::Outpoint> outputs);
  Result<std::vector<ItemResult>> unfreeze(std::span<const chain::Outpoint> outputs);
  // A frozen output becomes another: it is free kReassignDelay blocks later.
  Result<std::vector<ItemResult>> reassign(std::span<const Reassignment> items);
  // While it is preserved nothing stamps it. `until` at or below the tip ends it at the next pass.
  Result<std::vector<ItemResult>> preserve(std::span<const Hash256> ids, std::uint64_t until);

  // ---- the chain, for who feeds it by hand; txstore::Consumer does it from blocks ----
  // A new store that does not begin with the chain: what is older than this block is not known to
  // it (X5). Errors: kConflict if it has begun already.
  Result<> begin_after(const bus::Position& block);
  // The tip is this block now. Errors: kInvalidInput if it does not follow the tip.
  Result<> advance(const bus::Position& to);
  // One step of cleanup at the tip: up to options().cleanup_budget of work.
  Result<CleanupReport> cleanup();
  // Until nothing more is due; `dry_run` changes nothing and tells what would go.
  Result<CleanupReport> prune(bool dry_run = false);

  // ---- answers, each from one moment ----
  Tip tip() const;  // as last committed by this process
  Result<Stats> stats() const;
  Result<Explanation> explain(const Hash256& id) const;  // kNotFound
  Result<TxBody> body(const Hash256& id) const;          // kNotFound
  // Up to `count` outputs from the first on.
  Result<std::vector<StoredOutput>> outputs(const Hash256& id, std::uint32_t first,
                                            std::uint32_t count) const;
  Result<Absence> absence(const Hash256& id) const;

  struct ListRequest {
    std::size_t count = 100;  // 1 to 1,000
    std::string cursor;       // of an earlier page
    // One of these.
    bool unmined = false, conflicting = false;
    std::optional<retention::Reason> kept;
    std::optional<std::uint64_t> older_than;  // with unmined: since a height at or below this
  };
  struct ListPage {
    std::vector<StoredTx> txs;
    std::string cursor;  // empty at the end
  };
  Result<ListPage> list(const ListRequest& request) const;
  // Every stored transaction in the order of ids; false from `each` ends it early.
  Result<Tip> for_each(const std::function<Result<bool>(const StoredTx&)>& each) const;

  struct Verified {
    std::uint64_t records = 0, entries = 0, due = 0, unmined = 0, blocks = 0;
  };
  // Every invariant of the header comment, from the entries themselves. Errors: kCorrupt naming the
  // first that fails. Cost: everything is read once.
  Result<Verified> verify(
      const std::function<void(std::string_view, std::uint64_t)>& progress) const;

  CounterTotals counters() const;

  struct Impl;

 private:
  friend class Consumer;
  Store(std::unique_ptr<Backend> backend, const chain::Network& network, const Options& options);
  const std::unique_ptr<Impl> impl_;
};

// Feeds the store from the chain and the mempool. Conflicts are resolved in the block's own commit.
class Consumer final : public bus::Consumer {
 public:
  // The store must outlive it. `first_block`: see X5.
  static Result<std::unique_ptr<Consumer>> open(Store& store);
  ~Consumer() override;

  std::string_view name() const override { return "txstore"; }
  std::string repair() const override { return "run 'coffer tx rebuild', then start again"; }
  bus::Position position() const override;
  Result<> on_block(const bus::BlockApplied& block) override;
  // Errors: kBeyondWindow below the final height: nothing changes.
  Result<> on_rollback(const bus::RolledBack& rollback) override;
  Result<> on_tx_seen(const bus::TxSeen& seen) override;
  Result<> on_tx_dropped(const bus::TxDropped& dropped) override;
  Result<> flush() override;
  bool can_wait() const override;
  Result<> probe() override;
  Result<std::optional<bus::Position>> newest_block_below(
      std::uint64_t below_height) const override;

 private:
  struct Impl;
  explicit Consumer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

// `txid|state|highest height|delete_at_height|unspent outputs|spent outputs`; a missing height is
// empty. The same on every backend.
std::string dump_line(chain::Family family, const StoredTx& tx);

// Empties all columns but what people did; the next start fills them again.
Result<> erase(kv::Database& db);

}  // namespace coffer::txstore
