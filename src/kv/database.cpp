// Reads, commits and upkeep of an open database.
#include <coffer/kv/database.h>

#include <rocksdb/convenience.h>
#include <rocksdb/utilities/checkpoint.h>

#include <coffer/base/log.h>
#include "base/check.h"
#include "base/result.h"
#include "kv/impl.h"

namespace coffer::kv {
namespace {

Error not_writable(const DatabaseImpl& impl) {
  return make_error(Code::kConflict, fmt::format("the database {} was opened for reading only",
                                                 impl.options.path.string()));
}

}  // namespace

Error refused_after_failure(DatabaseImpl& impl) {
  const std::scoped_lock lock(impl.failure_mutex);
  Error error = make_error(
      Code::kUnavailable,
      fmt::format("nothing more is written since an earlier write failed ({}); remove the cause "
                  "and restart",
                  impl.failure));
  error.retryable = false;
  return error;
}

// RocksDB goes read-only after most failures and recovers from some on its own. Coffer always
// stops: only a restart shows which of the writes around a failure reached the disk.
Error write_failed(DatabaseImpl& impl, const rocksdb::Status& status, std::string_view what) {
  Error error = to_error(status, what);
  const std::scoped_lock lock(impl.failure_mutex);
  if (!impl.failed) {
    impl.failure = error.message;
    impl.failed = true;
  }
  return error;
}

rocksdb::Status DatabaseImpl::flush_all() {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  {
    const std::scoped_lock lock(mutex);
    for (const auto& [name, column] : columns) handles.push_back(column.handle);
  }
  return db->Flush(rocksdb::FlushOptions(), handles);
}

DatabaseImpl::~DatabaseImpl() {
  if (db == nullptr) return;
  if (unlogged && !failed) {
    const rocksdb::Status status = flush_all();
    if (!status.ok()) log::error("flush at closing failed", {{"error", status.ToString()}});
  }
  for (const auto& [name, column] : columns) db->DestroyColumnFamilyHandle(column.handle);
  const rocksdb::Status status = db->Close();
  if (!status.ok()) log::warn("closing the database failed", {{"error", status.ToString()}});
}

Database::Database(std::unique_ptr<DatabaseImpl> impl) : impl_(std::move(impl)) {}
Database::~Database() = default;

Result<Column> Database::column(std::string_view name) const {
  const std::scoped_lock lock(impl_->mutex);
  const auto found = impl_->columns.find(name);
  if (found == impl_->columns.end() || !found->second.asked_for)
    return fail(Code::kNotFound, "the database {} has no column {} open",
                impl_->options.path.string(), name);
  return Column(found->second.handle, found->second.prefix_bytes);
}

std::vector<std::string> Database::column_names() const {
  const std::scoped_lock lock(impl_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, column] : impl_->columns) names.push_back(name);
  return names;
}

Result<> Database::commit(const Batch& batch, Durability durability) {
  if (impl_->options.read_only) return fail(not_writable(*impl_));
  if (impl_->failed) return fail(refused_after_failure(*impl_));
  if (batch.empty()) return {};
  const bool logged = durability != Durability::kNone;
  if (logged && impl_->unlogged) TRY(flush());
  rocksdb::WriteOptions options;
  options.disableWAL = !logged;
  options.sync = durability == Durability::kWalSync;
  if (!logged) impl_->unlogged = true;
  const rocksdb::Status status = impl_->db->Write(options, &batch.rep_->changes);
  if (!status.ok()) return fail(write_failed(*impl_, status, "cannot commit"));
  return {};
}

Result<> Database::flush() {
  if (impl_->options.read_only) return fail(not_writable(*impl_));
  if (impl_->failed) return fail(refused_after_failure(*impl_));
  const rocksdb::Status status = impl_->flush_all();
  if (!status.ok()) return fail(write_failed(*impl_, status, "cannot flush"));
  impl_->unlogged = false;
  return {};
}

Result<> Database::compact(Column column) {
  if (impl_->options.read_only) return fail(not_writable(*impl_));
  rocksdb::CompactRangeOptions options;
  // Files already at the bottom hold what was deleted, too.
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  const rocksdb::Status status =
      impl_->db->CompactRange(options, family(column.handle_), nullptr, nullptr);
  if (!status.ok()) return fail(to_error(status, "cannot compact"));
  return {};
}

Result<> Database::checkpoint(const std::filesystem::path& directory) {
  std::error_code error;
  if (std::filesystem::exists(directory, error))
    return fail(Code::kConflict, "{} already exists; choose another directory", directory.string());
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(impl_->db.get(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> maker(made);
  if (status.ok()) status = maker->CreateCheckpoint(directory.string());
  if (!status.ok())
    return fail(
        to_error(status, fmt::format("cannot make a checkpoint in {}", directory.string())));
  return {};
}

std::uint64_t Database::disk_bytes() const {
  namespace fs = std::filesystem;
  std::uint64_t total = 0;
  std::error_code error;
  // Files come and go meanwhile; one that is gone counts nothing.
  for (fs::directory_iterator it(impl_->options.path, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    const std::uint64_t size = it->file_size(gone);
    if (!gone) total += size;
  }
  return total;
}

std::uint64_t Database::estimate_keys(Column column) const {
  std::uint64_t keys = 0;
  impl_->db->GetIntProperty(family(column.handle_), rocksdb::DB::Properties::kEstimateNumKeys,
                            &keys);
  return keys;
}

std::optional<std::string> Database::property(Column column, std::string_view name) const {
  std::string value;
  if (!impl_->db->GetProperty(family(column.handle_), rocksdb::Slice(name.data(), name.size()),
                              &value))
    return std::nullopt;
  return value;
}

bool Database::read_only() const {
  return impl_->options.read_only;
}
const std::filesystem::path& Database::path() const {
  return impl_->options.path;
}

}  // namespace coffer::kv
