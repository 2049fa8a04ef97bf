// Sorted files and how they are taken in.
#include <rocksdb/sst_file_writer.h>

#include <coffer/base/log.h>
#include "base/result.h"
#include "kv/impl.h"

namespace coffer::kv {
namespace {

namespace fs = std::filesystem;

// Where files are written before they are taken in. What a crash leaves there is of no use.
fs::path waiting_room(const fs::path& database) {
  return database / "ingest";
}

}  // namespace

void clear_unfinished_files(const fs::path& database) {
  std::error_code ignored;
  fs::remove_all(waiting_room(database), ignored);
}

struct SortedFile::Rep {
  std::string path;
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  std::unique_ptr<rocksdb::SstFileWriter> writer;
  std::uint64_t count = 0;

  Result<> checked(const rocksdb::Status& status) {
    if (status.ok()) {
      ++count;
      return {};
    }
    if (status.IsInvalidArgument())
      return fail(Code::kInvalidInput, "keys of a sorted file must ascend: {}", status.ToString());
    return fail(to_error(status, "cannot write a sorted file"));
  }
};

SortedFile::SortedFile(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
SortedFile::SortedFile(SortedFile&&) noexcept = default;
SortedFile& SortedFile::operator=(SortedFile&&) noexcept = default;

SortedFile::~SortedFile() {
  if (rep_ == nullptr) return;
  rep_->writer.reset();
  std::error_code ignored;
  fs::remove(rep_->path, ignored);
}

Result<> SortedFile::put(ByteView key, ByteView value) {
  return rep_->checked(rep_->writer->Put(slice(key), slice(value)));
}
Result<> SortedFile::del(ByteView key) {
  return rep_->checked(rep_->writer->Delete(slice(key)));
}
std::uint64_t SortedFile::count() const {
  return rep_->count;
}

Result<SortedFile> Database::sorted_file(Column column) {
  if (impl_->options.read_only)
    return fail(Code::kConflict, "the database {} was opened for reading only",
                impl_->options.path.string());
  const fs::path room = waiting_room(impl_->options.path);
  std::error_code error;
  fs::create_directories(room, error);
  if (error) return fail(Code::kUnavailable, "cannot make {}: {}", room.string(), error.message());
  auto rep = std::make_unique<SortedFile::Rep>();
  rep->path = (room / fmt::format("{}.sst", ++impl_->sorted_files)).string();
  rep->handle = family(column.handle_);
  rocksdb::Options options = impl_->db->GetOptions(rep->handle);
  // As what comes out of a memtable: compaction makes it denser later.
  options.bottommost_compression = rocksdb::kDisableCompressionOption;
  options.compression_per_level.clear();
  rep->writer = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(), options,
                                                         rep->handle, /*invalidate_page_cache=*/
                                                         false);
  const rocksdb::Status status = rep->writer->Open(rep->path);
  if (!status.ok()) return fail(to_error(status, "cannot write a sorted file"));
  return SortedFile(std::move(rep));
}

Result<> Database::ingest(std::span<SortedFile> files) {
  if (impl_->failed) return fail(refused_after_failure(*impl_));
  if (impl_->unlogged) TRY(flush());
  std::vector<rocksdb::IngestExternalFileArg> arguments;
  for (SortedFile& file : files) {
    if (file.count() == 0) continue;
    const rocksdb::Status status = file.rep_->writer->Finish();
    if (!status.ok()) return fail(to_error(status, "cannot write a sorted file"));
    rocksdb::IngestExternalFileArg argument;
    argument.column_family = file.rep_->handle;
    argument.external_files = {file.rep_->path};
    argument.options.move_files = true;  // they are ours alone
    argument.options.failed_move_fall_back_to_copy = true;
    arguments.push_back(std::move(argument));
  }
  if (arguments.empty()) return {};
  // Files are durable at once. What was committed before them must be so, too, or a power loss
  // keeps the later and takes the earlier, perhaps of another writer.
  const rocksdb::Status synced = impl_->db->SyncWAL();
  if (!synced.ok()) return fail(write_failed(*impl_, synced, "cannot sync the log"));
  const rocksdb::Status status = impl_->db->IngestExternalFiles(arguments);
  if (!status.ok()) return fail(write_failed(*impl_, status, "cannot take in sorted files"));
  return {};
}

}  // namespace coffer::kv
