// A key-value database of column families with atomic batches: the only door to RocksDB.
// Invariant: a committed batch is there whole or not at all, after any crash, in all its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <coffer/base/bytes.h>

namespace coffer::kv {

enum class Compression : std::uint8_t { kNone, kLz4, kZstd };

// How one column family is used. May differ from one opening to the next.
struct ColumnOptions {
  std::string name;
  bool point_lookups = false;    // keys are mostly fetched one by one, and often not there
  std::size_t prefix_bytes = 0;  // scans stay within keys that share so many first bytes; 0 = none
  unsigned bloom_bits = 10;      // per key; 0 = no filter
  Compression compression = Compression::kZstd;
  std::uint64_t write_buffer_bytes = 64u << 20;
};

struct DatabaseOptions {
  std::filesystem::path path;
  std::vector<ColumnOptions> columns;
  bool read_only = false;  // takes no lock and writes nothing: may stand beside a running daemon
  bool create_if_missing = true;
  std::uint64_t block_cache_bytes = 256u << 20;   // shared by all columns
  std::uint64_t write_buffer_bytes = 256u << 20;  // all columns together; at least 4 MiB each
  std::uint64_t max_wal_bytes = 512u << 20;       // bounds recovery time and the memory of a reader
  int max_background_jobs = 4;
  int max_open_files = 1024;  // a reader holds all files open, see Database::open
  // Reserve room for the log and for new files before they are written, which keeps them in one
  // piece on disk. For a small database on a file system in memory, turn it off: there the
  // reservation, tens of MiB at every opening, is filled with zeros.
  bool preallocate = true;
};

// How safe a commit is when it returns.
enum class Durability : std::uint8_t {
  kWal,      // survives the end of the process, not of the machine
  kWalSync,  // survives a power loss
  kNone,     // survives after flush() only; until then a crash takes back all such commits together
};

class Database;
class Iterator;
struct DatabaseImpl;

// Names a column of an open database; cheap to copy, valid as long as the database.
class Column {
 public:
  Column() = default;
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  friend class Batch;
  friend class Database;
  explicit Column(void* handle, std::size_t prefix_bytes)
      : handle_(handle), prefix_bytes_(prefix_bytes) {}
  void* handle_ = nullptr;
  std::size_t prefix_bytes_ = 0;
};

// Changes to commit together, in order. Not thread-safe.
class Batch {
 public:
  Batch();
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;

  // Copy their arguments. Key and value are below 4 GiB.
  void put(Column column, ByteView key, ByteView value);
  void del(Column column, ByteView key);
  // All keys in [begin, end).
  void del_range(Column column, ByteView begin, ByteView end);

  std::size_t count() const;       // changes
  std::size_t size_bytes() const;  // as written to the log
  bool empty() const { return count() == 0; }
  void clear();  // keeps the memory for the next use

 private:
  friend class Database;
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

// One moment of the database, in all columns. Must go before its database does. Thread-safe to read
// with. Old versions of keys stay on disk as long as it lives: keep it short.
class Snapshot {
 public:
  Snapshot(Snapshot&& other) noexcept;
  Snapshot& operator=(Snapshot&& other) noexcept;
  ~Snapshot();

 private:
  friend class Database;
  Snapshot(DatabaseImpl* impl, const void* handle) : impl_(impl), handle_(handle) {}
  DatabaseImpl* impl_;
  const void* handle_;
};

// A value where RocksDB holds it, without a copy. Reuse one object for many reads. Not thread-safe.
// Must go before its database does: it holds a block of the cache.
class Pinned {
 public:
  Pinned();
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  // Valid until the next read into this object.
  ByteView view() const;

 private:
  friend class Database;
  static constexpr std::size_t kBytes = 128;  // checked in database.cpp
  alignas(16) std::byte storage_[kBytes];
};

// The values of one multi_get, without a copy. The same rules as for Pinned.
class PinnedValues {
 public:
  PinnedValues();
  ~PinnedValues();
  PinnedValues(PinnedValues&&) noexcept;
  PinnedValues& operator=(PinnedValues&&) noexcept;
  std::size_t size() const;
  // In the order of the keys; nothing where there was no such key.
  std::optional<ByteView> operator[](std::size_t index) const;

 private:
  friend class Database;
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

struct IteratorOptions {
  ByteView prefix = {};       // only keys that begin so
  ByteView lower_bound = {};  // only keys >= this; empty = none
  ByteView upper_bound = {};  // only keys < this; empty = none
  const Snapshot* snapshot =
      nullptr;             // must outlive the iterator; without one, the moment it was made
  bool fill_cache = true;  // false for scans that should not push hot blocks out
  std::size_t readahead_bytes = 0;  // 0 = grows by itself
};

// Walks keys in byte order within its bounds (which are copied). Not thread-safe; must go before
// its database.
class Iterator {
 public:
  ~Iterator();
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;

  void seek_to_first();
  void seek_to_last();
  void seek(ByteView key);           // the first key >= key
  void seek_for_prev(ByteView key);  // the last key <= key
  // Only while valid.
  void next();
  void prev();

  // False at the end, and after an error: ask status() when the walk is over.
  bool valid() const;
  // Only while valid; good until the next move.
  ByteView key() const;
  ByteView value() const;
  // Errors: kCorrupt, kUnavailable.
  Result<> status() const;

 private:
  friend class Database;
  struct Rep;
  explicit Iterator(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Changes to one column in ascending order of keys, each key once, written straight into a file
// that Database::ingest() then takes in: several times cheaper than the same changes in a batch.
// Goes away with its file unless ingested. Not thread-safe; several may be written at the same
// time.
class SortedFile {
 public:
  ~SortedFile();
  SortedFile(SortedFile&&) noexcept;
  SortedFile& operator=(SortedFile&&) noexcept;

  // Errors: kUnavailable (full disk), kInvalidInput (not in ascending order).
  Result<> put(ByteView key, ByteView value);
  Result<> del(ByteView key);
  std::uint64_t count() const;

 private:
  friend class Database;
  struct Rep;
  explicit SortedFile(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Thread-safe unless a method says otherwise. Reads cost a few microseconds from cache, one disk
// read beyond it.
class Database {
 public:
  // Makes the directory and the columns asked for where they are missing. Columns that exist but
  // are not asked for are opened, because RocksDB insists, and left alone.
  //
  // read_only gives the state at the moment of opening, the last committed batch included (not
  // those of Durability::kNone before their flush), and keeps it whatever a writer does beside it.
  // Columns that are missing are left out.
  //
  // Errors: kUnavailable (in use by another process, no permission, full disk), kCorrupt (damaged,
  // or written by something newer), kNotFound (nothing there and not to be created), kUsage (a file
  // is in the way).
  static Result<std::unique_ptr<Database>> open(const DatabaseOptions& options);
  // Flushes what Durability::kNone left in memory. All iterators, snapshots and pinned values must
  // be gone.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Errors: kNotFound unless the column was asked for when opening.
  Result<Column> column(std::string_view name) const;
  // All columns in the database, also those not asked for; sorted. "default" is always one of them.
  std::vector<std::string> column_names() const;
  // Applies the batch whole or not at all and leaves it as it is. An empty one is no work.
  // The first commit with a log after some of kNone flushes those first, so that a crash cannot
  // keep the later and lose the earlier; commits of kNone therefore need a single writer.
  //
  // Errors: kConflict (opened for reading only), kUnavailable (full disk, device error). After the
  // latter nothing more is written by this object: every further commit and flush is kUnavailable
  // and says to restart. What failed may or may not be there then.
  Result<> commit(const Batch& batch, Durability durability = Durability::kWal);

  // A file to fill for ingest(). Errors: kConflict (opened for reading only), kUnavailable.
  Result<SortedFile> sorted_file(Column column);
  // Takes in the files, one a column, whole or not at all; what they say is newer than all that was
  // committed before. Durable when it returns. Errors: as commit.
  Result<> ingest(std::span<SortedFile> files);

  // Errors of all reads: kCorrupt (a checksum does not match), kUnavailable (device error).
  Result<std::optional<Bytes>> get(Column column, ByteView key,
                                   const Snapshot* snapshot = nullptr) const;
  // False if there is no such key.
  Result<bool> get_pinned(Column column, ByteView key, Pinned& value,
                          const Snapshot* snapshot = nullptr) const;
  // In the order of the keys; sorted keys are a little faster. Much cheaper than as many get().
  Result<> multi_get(Column column, std::span<const ByteView> keys, PinnedValues& values,
                     const Snapshot* snapshot = nullptr) const;
  Iterator iterate(Column column, IteratorOptions options = {}) const;
  Snapshot snapshot() const;

  // Puts all that is in memory into files, all columns at one boundary. Blocks. Errors: as commit.
  Result<> flush();
  // Rewrites the whole column without what was deleted or overwritten. Blocks, can take long.
  // Errors: kUnavailable, kCorrupt.
  Result<> compact(Column column);
  // Makes `directory` (must not exist, its parent must) a database of its own with the state of
  // this moment; files are hard links where the file system allows it. Errors: kConflict if it
  // exists, kUnavailable.
  Result<> checkpoint(const std::filesystem::path& directory);

  std::uint64_t disk_bytes() const;  // all files of the database
  std::uint64_t estimate_keys(Column column) const;
  // A RocksDB property such as "rocksdb.stats"; nothing if there is none of that name.
  std::optional<std::string> property(Column column, std::string_view name) const;

  bool read_only() const;
  const std::filesystem::path& path() const;

 private:
  explicit Database(std::unique_ptr<DatabaseImpl> impl);
  std::unique_ptr<DatabaseImpl> impl_;
};

}  // namespace coffer::kv
