// What one unit changes, written to all columns in one commit: as a batch if it is small, as sorted
// files if it is large, as the UTXO state does (U10).
#pragma once

#include "txstore/rocksdb/codec.h"
#include "txstore/rocksdb/columns.h"
#include "txstore/rocksdb/io_counts.h"
#include "txstore/rocksdb/state_cache.h"

namespace coffer::txstore {

// From this many changes on sorted files are used: they cost some 20 ms whatever they hold, a batch
// some microseconds a change, mostly for the log.
inline constexpr std::size_t kChangesForFiles = 30'000;

struct WritePlan {
  kv::Database& db;
  const RocksColumns& columns;
  kv::Batch& batch;  // reused from commit to commit
  const Changes& changes;
  // Heights of blocks to delete, ascending; none of them is in changes.blocks.
  std::span<const std::uint64_t> dropped_blocks;
  // To put, in ascending order of heights.
  std::span<const BlockUndo* const> blocks;
  const StoredTip* tip = nullptr;  // null: it stays as it is
  // Pages of replaced records that had more of them, in the order of the records.
  std::span<const PageKey> stale_pages;
  // Told of every state that is written; the caller empties it if writing fails.
  StateCache& cache;
};

// Returns what was written. Errors: those of kv::Database::commit; kTooLarge for a transaction of
// more than kMaxOutputs outputs. Records that are written must be loaded as codec.h says.
Result<IoCounts> write_changes(const WritePlan& plan);

}  // namespace coffer::txstore
