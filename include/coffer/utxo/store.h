// The UTXO state as a consumer of blocks, and its columns.
//
// Columns (docs/formats/utxo.md): utxo_unspent and utxo_spent by outpoint; utxo_addr and utxo_cred
// by owner, slot, outpoint; utxo_block_delta by ordinal; utxo_meta; utxo_mmr_nodes with store mmr.
// Invariants, after every commit: an output is in utxo_unspent exactly if it is unspent at the
// position; each has one entry in each index that applies to it; every block within the window has
// a delta that undoes it exactly; spent outputs of those blocks are in utxo_spent.
#pragma once

#include <memory>

#include <coffer/bus/consumer.h>
#include <coffer/chain/genesis.h>
#include <coffer/chain/network.h>
#include <coffer/kv/database.h>
#include <coffer/utxo/state.h>

namespace coffer::utxo {

// The columns to open with these options; the caller opens none if the state is off (U13).
std::vector<kv::ColumnOptions> columns(const Options& options);

// A place where time went, for metrics.
struct Timings {
  std::uint64_t blocks = 0, rollbacks = 0, prunes = 0;
  double apply_seconds = 0, rollback_seconds = 0, prune_seconds = 0;
};

class Store final : public bus::Consumer {
 public:
  // Opens, or makes a new one and puts the outputs of the genesis files into it. The settings that
  // shape the data are kept in utxo_meta and must be the same ever after (U12).
  // Errors: kConflict naming the setting and 'coffer utxo rebuild'; kUsage (settings contradict
  // each other); kCorrupt, kUnavailable.
  static Result<std::unique_ptr<Store>> open(kv::Database& db, const chain::Network& network,
                                             const Options& options,
                                             std::span<const chain::GenesisUtxo> genesis);
  ~Store() override;

  std::string_view name() const override { return "utxo"; }
  std::string repair() const override { return "run 'coffer utxo rebuild', then start again"; }
  bus::Position position() const override;
  Result<> on_block(const bus::BlockApplied& block) override;
  Result<> on_rollback(const bus::RolledBack& rollback) override;
  Result<> flush() override;

  // The reading side; thread-safe beside the writer.
  const UtxoState& state() const;
  Timings timings() const;
  // Undoes blocks to after `to`; the command line's rollback. Errors: kBeyondWindow.
  Result<> rollback_to(const bus::Position& to);

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  Result<> moved(Result<> done);

  const std::unique_ptr<Impl> impl_;
};

// The reading side alone, beside a running writer, with the settings that the data have.
// Errors: kNotFound if there is no UTXO state here; kCorrupt, kUnavailable.
Result<std::unique_ptr<UtxoState>> open_state(kv::Database& db, const chain::Network& network);

// What verify() found.
struct Verified {
  std::uint64_t unspent = 0, address_entries = 0, credential_entries = 0, spent = 0, deltas = 0,
                leaves = 0;
};
// Every invariant of the header comment: each index entry has its output and the reverse, each
// delta undoes to a set of the recorded size, the accumulator matches the set.
// Errors: kCorrupt naming the first that fails. Cost: a scan of all columns.
Result<Verified> verify(kv::Database& db, const chain::Network& network,
                        const std::function<void(std::string_view, std::uint64_t)>& progress);

// Empties all columns of the UTXO state; the next start builds it anew from the source.
Result<> erase(kv::Database& db);

}  // namespace coffer::utxo
