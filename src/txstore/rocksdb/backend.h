// The transaction store in RocksDB: columns of the database that the chain state is in.
// Invariants: one unit at a time; a commit holds the records, their index keys, the tip and the
// counts; tip and counts in memory are those of the last commit.
#pragma once

#include <coffer/chain/network.h>
#include <coffer/kv/database.h>
#include "txstore/backend.h"
#include "txstore/rocksdb/codec.h"
#include "txstore/rocksdb/columns.h"
#include "txstore/rocksdb/io_counts.h"
#include "txstore/rocksdb/state_cache.h"

namespace coffer::txstore {

// Memory for the states of transactions that were used last.
inline constexpr std::size_t kStateCacheBytes = 128u << 20;

// Thread-safe. Must go before its database does.
class RocksBackend final : public Backend {
 public:
  RocksBackend(kv::Database& db, const chain::Network& network, const RocksColumns& columns,
               const StoredTip& stored, std::size_t cache_bytes);
  ~RocksBackend() override;

  std::string_view name() const override { return "rocksdb"; }
  // The body runs once: nothing here asks for another attempt. A second unit waits for the first,
  // whatever they hold. Errors also: kConflict if the database is open for reading only.
  Result<> run(Hold hold, const std::function<Result<>(Unit&)>& body) override;
  // Beside a unit: sees the last commit.
  Result<> read(const std::function<Result<>(View&)>& body) override;
  std::size_t records_a_step() const override { return 20'000; }
  // Of files only, not of what is still in memory.
  std::uint64_t disk_bytes() const override;

  // Since it was opened, units and views together.
  IoCounts io_counts() const { return io_.total(); }

 private:
  class RocksUnit;

  kv::Database& db_;
  const chain::Family family_;
  const RocksColumns columns_;
  IoCounters io_;

  // Everything below belongs to the unit that runs.
  std::mutex unit_mutex_;
  StoredTip stored_;
  kv::Batch batch_;
  StateCache cache_;
  std::optional<Marks> marks_;  // all that there are; nothing if unknown
  // A lower bound of the keys of tx_due; nothing if unknown. It saves the reads of what cannot be
  // there, and the walk over what was deleted.
  std::optional<std::uint64_t> due_floor_;
};

// Begins a new store if there is none. Errors: kConflict (written by a newer program), kCorrupt,
// kUnavailable; kNotFound if read_only is set and there is none.
Result<std::unique_ptr<Backend>> open_rocksdb(kv::Database& db, const chain::Network& network,
                                              bool read_only,
                                              std::size_t cache_bytes = kStateCacheBytes);

}  // namespace coffer::txstore
