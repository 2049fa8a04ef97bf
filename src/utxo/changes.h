// What one commit will do to all columns, gathered over one or many whole blocks.
// Invariant: an output that came and went within the set never reaches utxo_unspent or the indexes.
#pragma once

#include <deque>
#include <unordered_set>

#include <coffer/utxo/record.h>
#include "utxo/columns.h"
#include "utxo/meta.h"
#include "utxo/output_cache.h"

namespace coffer::utxo {

struct SpentOutput {
  chain::Outpoint outpoint;
  Body before;
  Hash256 by{};
  std::uint32_t block = 0;  // a row of ChangeSet::blocks
};

// A record of one key, or its deletion when there is no value.
struct RawChange {
  chain::Outpoint outpoint;
  std::optional<Bytes> value;
};

struct ChangeSet {
  OutputCache outputs;
  std::vector<SpentOutput> spent;      // new records of utxo_spent
  std::vector<RawChange> spent_other;  // other changes to utxo_spent; `spent` wins over them
  // Records on disk that are overwritten by others of the same outpoint (U4): their index entries
  // go.
  std::vector<std::pair<chain::Outpoint, Body>> overwritten;
  std::deque<std::pair<Hash256, CreationBlock>>
      blocks;  // of `spent`; a deque, so that views stay good
  std::vector<std::pair<Ordinal, Bytes>> deltas;
  std::vector<Ordinal> dropped_deltas;
  // Outputs of the coinbases in the set: only one of these can have come and gone within it and
  // come again.
  std::unordered_set<chain::Outpoint, chain::OutpointHash> coinbases;
  std::vector<std::pair<Bytes, std::optional<Bytes>>> mmr;  // sorted; keys of utxo_mmr_nodes
  std::size_t other_bytes = 0;                              // besides the outputs

  std::uint32_t add_block(const chain::Block& block);
  void add_spent(const chain::Outpoint& outpoint, Body before, const Hash256& by,
                 std::uint32_t block);
  void add_delta(Ordinal ordinal, Bytes delta);

  std::size_t bytes() const { return outputs.bytes() + other_bytes; }
  std::size_t changes() const { return outputs.size() + spent.size() + spent_other.size(); }
};

struct CommitPlan {
  kv::Database& db;
  const Columns& columns;
  chain::Family family = chain::Family::kBitcoin;
  bool index_address = true;
  bool index_credential = true;
};

// Writes the set and the tip in one commit: as a batch if it is small, as sorted files if it is
// large. Errors: those of kv::Database::commit, and kCorrupt.
Result<> commit(const CommitPlan& plan, const ChangeSet& changes, const Tip& tip);

}  // namespace coffer::utxo
