// How RocksDB is tuned, in one place.
#include <cstdio>

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>

#include <coffer/base/log.h>
#include "kv/impl.h"

namespace coffer::kv {
namespace {

// RocksDB's errors go to Coffer's log (its warnings are mostly about writes that wait, which is
// ordinary). Its own log file is not written: on a full disk Debian's build, which has assertions
// on, ends the process at the second line that does not fit.
class ErrorLogger : public rocksdb::Logger {
 public:
  ErrorLogger() : Logger(rocksdb::InfoLogLevel::ERROR_LEVEL) {}
  using rocksdb::Logger::Logv;

  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < GetInfoLogLevel() || level > rocksdb::InfoLogLevel::FATAL_LEVEL) return;
    Logv(format, arguments);
  }
  void Logv(const char* format, va_list arguments) override {
    char line[1024];  // what is longer is cut
    std::vsnprintf(line, sizeof line, format, arguments);
    for (char& c : line)
      if (c == '\n') c = ' ';
    log::error("rocksdb", {{"message", static_cast<const char*>(line)}});
  }
  // Headers list every option; they are not for people.
  void LogHeader(const char*, va_list) override {}
};

}  // namespace

rocksdb::DBOptions make_db_options(const DatabaseOptions& ours) {
  rocksdb::DBOptions options;
  options.create_missing_column_families = true;
  options.paranoid_checks = true;
  // One boundary for all columns when the log is off (U10); it excludes pipelined writes.
  options.atomic_flush = true;
  options.enable_pipelined_write = false;
  // A torn tail of the log is what a crash leaves. Everything before it is kept, whole batches
  // only.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.max_total_wal_size = ours.max_wal_bytes;
  // A column takes up to 1 MiB with its first key; with less room than this every commit would be a
  // flush.
  options.db_write_buffer_size =
      std::max<std::uint64_t>(ours.write_buffer_bytes, (ours.columns.size() + 1) * (4u << 20));
  options.max_background_jobs = ours.max_background_jobs;
  // A reader beside a writer must hold every file open, or compaction takes them away under it.
  options.max_open_files = ours.read_only ? -1 : ours.max_open_files;
  options.bytes_per_sync = 1u << 20;  // spreads the cost of the final fsync of a large file
  options.allow_fallocate = ours.preallocate;
  options.max_manifest_file_size = 64u << 20;
  options.avoid_unnecessary_blocking_io = true;
  options.info_log = std::make_shared<ErrorLogger>();
  options.info_log_level = rocksdb::InfoLogLevel::ERROR_LEVEL;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

rocksdb::ColumnFamilyOptions make_column_options(const ColumnOptions& column,
                                                 const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = column.write_buffer_bytes;
  options.max_write_buffer_number =
      4;  // writes go on while one is flushed; the total is bounded anyway
  options.level_compaction_dynamic_level_bytes = true;
  // A file that is mostly deletions, as pruning and rollbacks leave, is compacted without waiting
  // for its level to fill.
  options.table_properties_collector_factories.push_back(
      rocksdb::NewCompactOnDeletionCollectorFactory(32'768, 16'384));
  switch (column.compression) {
    case Compression::kNone:
      options.compression = rocksdb::kNoCompression;
      options.bottommost_compression = rocksdb::kNoCompression;
      break;
    case Compression::kLz4:
      options.compression = rocksdb::kLZ4Compression;
      options.bottommost_compression = rocksdb::kLZ4Compression;
      break;
    case Compression::kZstd:
      options.compression = rocksdb::kLZ4Compression;
      options.bottommost_compression = rocksdb::kZSTD;
      break;
  }

  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.format_version = 5;
  // Counted against the cache, so that memory stays bounded whatever the number of files.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  // Index and filter of a large file are megabytes: in one piece they would fit into no part of the
  // cache and be read again for nearly every key. In pieces only those that a key needs are read.
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.pin_top_level_index_and_filter = true;
  if (column.bloom_bits > 0)
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(column.bloom_bits));
  if (column.prefix_bytes > 0) {
    options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(column.prefix_bytes));
    options.memtable_prefix_bloom_size_ratio = 0.1;
    table.whole_key_filtering = false;
  } else if (column.point_lookups) {
    options.memtable_prefix_bloom_size_ratio = 0.02;
    options.memtable_whole_key_filtering = true;
    table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

rocksdb::ColumnFamilyOptions make_idle_column_options(
    const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options = make_column_options({}, cache);
  options.disable_auto_compactions = true;
  return options;
}

}  // namespace coffer::kv
