// Opening: which columns, who else is there, and what is wrong when it does not work.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <set>
#include <sstream>

#include <rocksdb/cache.h>

#include "base/file.h"
#include "base/result.h"
#include "kv/impl.h"

namespace coffer::kv {
namespace {

namespace fs = std::filesystem;

constexpr int kReaderAttempts = 20;
// Few, so that a part of the cache is large beside what one file needs of it.
constexpr int kCacheShardBits = 3;

std::string database_at(const fs::path& path) {
  return "cannot open the database " + path.string();
}

// The process that holds RocksDB's lock. Asked of /proc and not of the file: closing any descriptor
// of the file would release a lock that this very process holds on it.
std::optional<int> lock_owner(const fs::path& path) {
  struct stat info;
  if (::stat((path / "LOCK").c_str(), &info) != 0) return std::nullopt;
  const std::string wanted =
      fmt::format("{:02x}:{:02x}:{}", major(info.st_dev), minor(info.st_dev), info.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // 1: POSIX  ADVISORY  WRITE 4711 08:01:123456 0 EOF
    std::istringstream fields(line);
    std::string number, kind, mode, access, inode;
    int pid = 0;
    if (fields >> number >> kind >> mode >> access >> pid >> inode && inode == wanted && pid > 0)
      return pid;
  }
  return std::nullopt;
}

Error in_use(const fs::path& path, std::optional<int> pid) {
  return make_error(
      Code::kUnavailable,
      fmt::format("{}: it is in use by {}; stop that or choose another directory",
                  database_at(path), pid ? fmt::format("process {}", *pid) : "another process"));
}

Error open_error(const rocksdb::Status& status, const fs::path& path) {
  const std::string text = status.ToString();
  if (status.IsIOError() && text.find("lock") != std::string::npos &&
      text.find("/LOCK") != std::string::npos &&
      text.find("Permission denied") == std::string::npos)
    return in_use(path, lock_owner(path));
  // Options are ours and fixed, so what RocksDB does not know must be in the files.
  if (status.IsNotSupported() || status.IsInvalidArgument())
    return make_error(Code::kCorrupt,
                      fmt::format("{}: {}; it was written by a newer or another program: use that, "
                                  "or move the directory away and sync again",
                                  database_at(path), text));
  return to_error(status, database_at(path));
}

std::set<std::string> files_with_suffix(const fs::path& path, std::string_view suffix) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == suffix) names.insert(it->path().filename());
  return names;
}

// True if there is a database, false if there is room for a new one.
Result<bool> find_database(const DatabaseOptions& options) {
  std::error_code error;
  if (fs::exists(options.path / "CURRENT", error)) return true;
  if (error) return fail(errno_error(error.value(), database_at(options.path)));
  // Without CURRENT RocksDB would start anew and clear the old files away.
  if (!files_with_suffix(options.path, ".sst").empty() ||
      !files_with_suffix(options.path, ".log").empty())
    return fail(Code::kCorrupt,
                "{}: the file CURRENT is missing among its data; restore a backup, or move the "
                "directory away and sync again",
                database_at(options.path));
  if (options.read_only || !options.create_if_missing)
    return fail(Code::kNotFound, "no database in {}; check the path", options.path.string());
  return false;
}

struct Opening {
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  std::vector<OpenColumn> columns;  // the same order
};

// What to open: the default column first, then those asked for, then what else is there.
Opening plan(const DatabaseOptions& options, const std::vector<std::string>& existing) {
  const auto cache = rocksdb::NewLRUCache(options.block_cache_bytes, kCacheShardBits, false, 0.5);
  std::set<std::string> left(existing.begin(), existing.end());
  left.insert(rocksdb::kDefaultColumnFamilyName);
  Opening opening;
  for (const ColumnOptions& column : options.columns) {
    const bool exists = left.erase(column.name) > 0;
    if (options.read_only && !exists) continue;
    opening.descriptors.emplace_back(column.name, make_column_options(column, cache));
    opening.columns.push_back({nullptr, column.prefix_bytes, true});
  }
  for (const std::string& name : left) {
    opening.descriptors.emplace_back(name, make_idle_column_options(cache));
    opening.columns.push_back({nullptr, 0, false});
  }
  return opening;
}

rocksdb::Status open_once(DatabaseImpl& impl, bool exists) {
  const std::string path = impl.options.path.string();
  rocksdb::DBOptions options = make_db_options(impl.options);
  options.create_if_missing = !exists;
  std::vector<std::string> existing;
  if (exists) {
    const rocksdb::Status listed = rocksdb::DB::ListColumnFamilies(options, path, &existing);
    if (!listed.ok()) return listed;
  }
  Opening opening = plan(impl.options, existing);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      impl.options.read_only
          ? rocksdb::DB::OpenForReadOnly(options, path, opening.descriptors, &handles, &db)
          : rocksdb::DB::Open(options, path, opening.descriptors, &handles, &db);
  if (!status.ok()) return status;
  impl.db.reset(db);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    opening.columns[i].handle = handles[i];
    impl.columns[opening.descriptors[i].name] = opening.columns[i];
  }
  return status;
}

// A writer beside us may remove files while we open. RocksDB reads the list of tables first and the
// logs after that; a log that a flush made obsolete in between would be a hole in the data. Logs go
// in order, so if all that were there before are there afterwards, none is missing.
//
// Opening "as secondary" would follow the writer, but knows no snapshots and needs a directory of
// its own to write to; a fixed state is what a command that reads wants.
Result<std::unique_ptr<DatabaseImpl>> open_beside_writer(const DatabaseOptions& options) {
  for (int attempt = 0; attempt < kReaderAttempts; ++attempt) {
    auto impl = std::make_unique<DatabaseImpl>();
    impl->options = options;
    const auto logs_before = files_with_suffix(options.path, ".log");
    const auto tables_before = files_with_suffix(options.path, ".sst");
    const rocksdb::Status status = open_once(*impl, true);
    const auto logs_after = files_with_suffix(options.path, ".log");
    const bool logs_stayed =
        std::includes(logs_after.begin(), logs_after.end(), logs_before.begin(), logs_before.end());
    if (status.ok() && logs_stayed) return impl;
    const bool changed =
        logs_after != logs_before || files_with_suffix(options.path, ".sst") != tables_before;
    if (!status.ok() && !changed) return fail(open_error(status, options.path));
  }
  return fail(Code::kUnavailable, "{}: its writer changes it faster than it can be read; try again",
              database_at(options.path));
}

Result<std::unique_ptr<DatabaseImpl>> open_as_writer(const DatabaseOptions& options, bool exists) {
  auto impl = std::make_unique<DatabaseImpl>();
  impl->options = options;
  const rocksdb::Status status = open_once(*impl, exists);
  if (status.ok()) {
    clear_unfinished_files(options.path);  // the lock is ours now
    return impl;
  }
  // Files that change under the eyes of a second writer look damaged: the lock tells more.
  const std::optional<int> owner = lock_owner(options.path);
  if (owner) return fail(in_use(options.path, owner));
  return fail(open_error(status, options.path));
}

Result<> check_options(const DatabaseOptions& options) {
  std::set<std::string_view> names;
  for (const ColumnOptions& column : options.columns) {
    if (column.name.empty()) return fail(Code::kUsage, "a column needs a name");
    if (!names.insert(column.name).second)
      return fail(Code::kUsage, "column {} is asked for twice", column.name);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const DatabaseOptions& options) {
  TRY(check_options(options));
  if (!options.read_only && options.create_if_missing) TRY(make_directory(options.path));
  const bool exists = TRY(find_database(options));
  std::unique_ptr<DatabaseImpl> impl =
      TRY(options.read_only ? open_beside_writer(options) : open_as_writer(options, exists));
  return std::unique_ptr<Database>(new Database(std::move(impl)));
}

}  // namespace coffer::kv
