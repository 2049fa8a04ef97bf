// What one block did to the set: enough to undo it, and to prune what it made obsolete.
// Compact (the default): outpoints only, the records of spent outputs are in utxo_spent.
// Self-contained: the records are in the delta as well.
#pragma once

#include <optional>
#include <vector>

#include <coffer/chain/block.h>

namespace coffer::utxo {

struct DeltaEntry {
  chain::Outpoint outpoint;
  ByteView record;  // empty in a compact delta
  Hash256 by{};     // the spender, of spent entries in a self-contained delta
};

// An output that the block put where there was one of the same id already (U4).
struct Replaced {
  chain::Outpoint outpoint;
  ByteView record;  // what was unspent there; empty if nothing was
  ByteView spent;   // what utxo_spent said; empty if nothing did
};

struct TxFlag {
  Hash256 tx{};
  bool invalid = true;
  bool had_collateral_return = false;
};

struct MmrDelta {
  std::uint64_t first_leaf = 0;  // leaves before the block
  std::uint64_t leaves = 0;      // appended
  std::vector<std::uint64_t> spent;
  std::vector<Hash256> peaks;
  Hash256 root{};
};

// Views point into the bytes it was decoded from.
struct BlockDelta {
  BlockNumber number;
  Slot slot;
  Hash256 hash{};
  std::vector<DeltaEntry> created;         // and still there after the block
  std::vector<DeltaEntry> spent;           // that were there before the block
  std::vector<chain::Outpoint> transient;  // created and spent by the block
  std::vector<TxFlag> tx_flags;            // of invalid transactions
  std::vector<Replaced> replaced;
  std::optional<std::uint8_t> era_before;    // where the block began a new era
  std::optional<BlockNumber> number_before;  // where it is not one less: of a boundary block
  std::optional<MmrDelta> mmr;

  // The outpoints that the block put into utxo_spent, in the order in which they are pruned.
  std::size_t prunable() const { return spent.size() + transient.size(); }
  const chain::Outpoint& prunable(std::size_t entry) const {
    return entry < spent.size() ? spent[entry].outpoint : transient[entry - spent.size()];
  }
};

void encode_delta(Bytes& out, const BlockDelta& delta);
// Errors: kCorrupt.
Result<BlockDelta> decode_delta(ByteView stored);
// Only its number, which comes first.
Result<BlockNumber> number_of_delta(ByteView stored);

}  // namespace coffer::utxo
