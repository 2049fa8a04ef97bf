// Applies, undoes and prunes blocks. One thread.
//
// Per block: its outputs go into a table in memory, its inputs are looked up there and what is not
// there with one MultiGet; what came and went within the same commit is never written. Cost: two
// table operations an output, one an input, one encoding a record that outlives its block.
#pragma once

#include <atomic>
#include <map>

#include <coffer/chain/network.h>
#include <coffer/utxo/delta.h>
#include <coffer/utxo/store.h>
#include "bus/commit_policy.h"
#include "utxo/accumulator.h"
#include "utxo/changes.h"

namespace coffer::utxo {

class Writer {
 public:
  Writer(kv::Database& db, const chain::Network& network, const Options& options,
         const Columns& columns, const Tip& tip);

  // The outputs that the chain begins with, committed at once; only on an empty state.
  Result<> add_genesis(std::span<const chain::GenesisUtxo> genesis);
  // After an error nothing of the block is left, nor of those held back before it; it is retryable
  // only if there were none. Errors: kCorrupt, kUnavailable, kInvalidInput (an index that no key
  // can hold).
  Result<> apply(const bus::BlockApplied& event);
  // Errors: kBeyondWindow; nothing is changed then (U2).
  Result<> rollback(const bus::Position& to);
  Result<> flush();

  // With what is held back.
  const Tip& tip() const { return tip_; }

  // For metrics; the writer's thread changes them, any may read.
  struct Counters {
    std::atomic<std::uint64_t> created{0}, spent{0}, pruned{0}, reversed{0}, missing{0},
        unspendable{0}, blocks{0}, rollbacks{0}, prunes{0}, apply_us{0}, rollback_us{0},
        prune_us{0};
  };
  const Counters& counters() const { return counters_; }

 private:
  struct Spend {
    CachedOutput* cached = nullptr;
    std::uint32_t tx = 0;  // a row of Block::txs; kNone: a rule of the ledger
  };
  struct Overwritten {
    chain::Outpoint outpoint;
    Bytes record, spent;
  };
  // The block in hand.
  struct Work {
    const chain::Block* block = nullptr;
    std::vector<CachedOutput*> created;
    std::vector<std::uint32_t> created_tx;  // beside it: rows of Block::txs
    std::vector<Spend> spends;
    std::vector<CachedOutput*> fetching;
    std::vector<Overwritten> overwritten;
    std::uint32_t change_block = 0;
    std::uint64_t first_leaf = 0;
    bool keep_delta = false;
    bool keep_spent = false;
    BlockDelta delta;
    Bytes scratch;
    void clear();
  };

  // apply.cpp
  Result<> apply_block(const bus::BlockApplied& event);
  Result<> create_outputs();
  Result<> create(std::uint32_t tx, std::uint32_t index, std::uint32_t row);
  Result<bool> overwrite(const chain::Outpoint& outpoint, CachedOutput* cached);
  void take_inputs();
  Result<> fetch_inputs();
  Result<> remove_redeem_outputs();
  Result<> finalize_created();
  Result<> finalize_spent();
  void finalize_delta(Ordinal ordinal);
  void forget_spent_outputs();
  void missing_input(const chain::Outpoint& outpoint, std::uint32_t tx);
  ByteView encode_created(const CachedOutput& cached, std::uint32_t tx,
                          std::optional<std::uint64_t> leaf);

  // rollback.cpp
  Result<> undo_to(const bus::Position& to);
  void lower_cursors(std::uint64_t height);
  Result<> undo(Ordinal ordinal);
  Result<> undo_created(const BlockDelta& delta);
  Result<> undo_spent(const BlockDelta& delta);
  Result<> undo_replaced(const BlockDelta& delta);
  Result<bool> is_pruned(const Replaced& old) const;
  Result<> set_position_before(Ordinal ordinal, const BlockDelta& undone);
  Result<> drop_created_after(const bus::Position& to);
  Result<> drop_traces(std::uint64_t from, std::uint64_t end);
  Result<> restore(const chain::Outpoint& outpoint, ByteView record);

  // prune.cpp
  Result<> prune();
  Result<> prune_to(std::uint64_t spent_end, std::uint64_t delta_end, std::uint64_t budget);
  Result<> forget_before(bool deltas);
  Result<> forget_spent(kv::Batch& batch, std::uint64_t end, std::uint64_t& budget);
  Result<> drop_deltas(kv::Batch& batch, std::uint64_t end, std::uint64_t& budget);
  Result<Bytes> delta_at(Ordinal ordinal) const;
  Result<bool> spent_by(const chain::Outpoint& outpoint, BlockNumber number) const;
  void forget_recreated(const BlockDelta& delta);
  std::uint64_t spent_horizon() const;
  std::uint64_t delta_horizon() const;

  // leaves.cpp: the accumulator's part
  Result<std::uint64_t> append_leaf(const chain::Outpoint& outpoint, ByteView facts);
  Result<> finalize_leaves();
  Result<> undo_leaves(const BlockDelta& delta);

  Result<> commit();
  Result<> discard_uncommitted(Result<> failed);
  std::size_t held_bytes() const;
  Result<> count_in(ByteView record, bool in);

  kv::Database& db_;
  const chain::Network network_;
  const Options options_;
  const Columns columns_;
  Tip tip_, committed_;
  ChangeSet changes_;
  // Records that undone blocks put back into utxo_spent, not committed yet.
  std::map<chain::Outpoint, Bytes> returned_spent_;
  std::optional<Accumulator> accumulator_;  // with store mmr
  Work work_;
  const bus::CommitPolicy commit_policy_;
  bus::HeldBlocks held_;
  std::uint64_t spent_since_prune_ = 0;
  Counters counters_;
};

}  // namespace coffer::utxo
