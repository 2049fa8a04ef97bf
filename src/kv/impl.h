// What the files of src/kv share; the RocksDB side of database.h. Internal.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <coffer/kv/database.h>
#include "base/check.h"

namespace coffer::kv {

struct OpenColumn {
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  std::size_t prefix_bytes = 0;
  bool asked_for = false;
};

struct DatabaseImpl {
  DatabaseOptions options;
  std::unique_ptr<rocksdb::DB> db;

  mutable std::mutex mutex;  // guards the columns
  std::map<std::string, OpenColumn, std::less<>> columns;
  // Kept until closing, so that a stale Column is an error of RocksDB and not a use after free.

  std::atomic<bool> unlogged{false};  // something committed with kNone has not been flushed
  std::atomic<bool> failed{false};    // a write failed; `failure` is set before and never changes
  std::string failure;
  std::atomic<std::uint64_t> sorted_files{0};  // names them
  std::mutex failure_mutex;

  ~DatabaseImpl();
  // All columns at one boundary; takes the mutex.
  rocksdb::Status flush_all();
};

struct Batch::Rep {
  rocksdb::WriteBatch changes;
};

// The family that a Column names.
inline rocksdb::ColumnFamilyHandle* family(void* handle) {
  CHECK(handle != nullptr);
  return static_cast<rocksdb::ColumnFamilyHandle*>(handle);
}

inline rocksdb::Slice slice(ByteView bytes) {
  return bytes.empty() ? rocksdb::Slice()
                       : rocksdb::Slice(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}
inline ByteView view(const rocksdb::Slice& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

// The one place where RocksDB's statuses become ours. `what` says what was tried; status must not
// be ok.
Error to_error(const rocksdb::Status& status, std::string_view what);

// The error of a write that comes after one that failed.
Error refused_after_failure(DatabaseImpl& impl);
// Notes that a write failed, after which nothing more is written.
Error write_failed(DatabaseImpl& impl, const rocksdb::Status& status, std::string_view what);

// Sorted files that a crash left behind.
void clear_unfinished_files(const std::filesystem::path& database);

rocksdb::DBOptions make_db_options(const DatabaseOptions& options);
// `cache` is shared by all columns.
rocksdb::ColumnFamilyOptions make_column_options(const ColumnOptions& column,
                                                 const std::shared_ptr<rocksdb::Cache>& cache);
// For columns that nobody asked for: they must open, and stay as they are.
rocksdb::ColumnFamilyOptions make_idle_column_options(const std::shared_ptr<rocksdb::Cache>& cache);

}  // namespace coffer::kv
