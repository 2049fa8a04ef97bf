// What utxo_meta holds: the settings that shape the data (written once), and where the data stand
// (written with every commit).
#pragma once

#include <vector>

#include <coffer/bus/event.h>
#include <coffer/kv/database.h>
#include <coffer/utxo/options.h>

namespace coffer::utxo {

inline constexpr std::uint64_t kSchemaVersion = 1;

// Which settings the data were made with (U12).
struct StoredOptions {
  std::uint64_t schema_version = kSchemaVersion;
  StoreType store = StoreType::kClassic;
  bool index_address = true;
  bool index_credential = true;
  bool self_contained_delta = false;

  static StoredOptions of(const Options& options) {
    return {kSchemaVersion, options.store, options.index_address, options.index_credential,
            options.self_contained_delta};
  }
};

// Where the data stand. Everything but the cursor of pruning is a function of the chain.
struct Tip {
  bus::Position position;
  BlockNumber number;  // of the block at the position
  std::uint64_t unspent = 0;
  U128 amount = 0;
  std::uint8_t era = 0;           // of the last Cardano block
  std::uint64_t leaves = 0;       // of the accumulator
  std::uint64_t delta_floor = 0;  // the blocks from this ordinal to the position have a delta
  std::uint64_t undo_floor = 0;   // and those from this one can be undone by it
  std::uint64_t prune_block = 0;  // the next delta by which spent records are forgotten
  std::uint64_t prune_entry = 0;  // and how many of its entries are done
  // Outpoints that were spent and came again within the kept deltas (U4), once for each time: an
  // older delta must not take the newer spent record with it. Empty but for a few old coinbases.
  std::vector<chain::Outpoint> recreated_outpoints = {};
};

// Nothing if the column is empty. Errors: kCorrupt; kConflict (written by a newer program).
Result<std::optional<StoredOptions>> read_stored_options(const kv::Database& db, kv::Column meta);
Result<Tip> read_tip(const kv::Database& db, kv::Column meta,
                     const kv::Snapshot* snapshot = nullptr);

Bytes encode_stored_options(const StoredOptions& stored_options);
Bytes encode_tip(const Tip& tip);
inline constexpr std::string_view kStoredOptionsKey = "shape";
inline constexpr std::string_view kTipKey = "tip";

}  // namespace coffer::utxo
