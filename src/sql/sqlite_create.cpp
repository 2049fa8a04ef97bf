// New files of SQLite. Invariant: a database has its name only when it has its first page, so an
// empty file is never a database that is being made: it is one that lost its content.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/file.h"
#include "base/result.h"
#include "sql/rename_new.h"
#include "sql/sqlite_impl.h"

namespace coffer::sql {
namespace {

struct CloseEmpty {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};

// The bytes of a database without tables.
Result<Bytes> empty_database() {
  sqlite3* memory = nullptr;
  int code = sqlite3_open(":memory:", &memory);
  const std::unique_ptr<sqlite3, CloseEmpty> closer(memory);
  // Any write makes the first page.
  if (code == SQLITE_OK)
    code = sqlite3_exec(memory, "PRAGMA user_version = 0", nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(sqlite_failure(code, sqlite3_errstr(code), "").error);
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
      sqlite3_serialize(memory, "main", &size, 0), sqlite3_free);
  if (bytes == nullptr || size == 0)
    return fail(Code::kInternal, "sqlite: an empty database has no page");
  return Bytes(bytes.get(), bytes.get() + size);
}

struct Remover {
  const std::string& path;
  ~Remover() { ::unlink(path.c_str()); }
};

}  // namespace

// With a mode of ours: SQLite gives the same to -wal and -shm. A file that is there must not be
// opened by us: closing it would drop the locks that this process's other connections have on it
// (POSIX), and another process would take the log away from under them.
Result<> make_database_file(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) return {};
  const Bytes page = TRY(empty_database());
  std::string name = path + ".new-XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return fail(errno_error(errno, "cannot create it"));
  const Remover remover{name};
  errno = ENOSPC;  // if it takes only a part
  const ssize_t written = ::write(file, page.data(), page.size());
  // What is not on the disk before the name is, may be an empty file after a power cut.
  const bool whole = written == static_cast<ssize_t>(page.size()) && ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  if (!whole) return fail(errno_error(error, "cannot write it"));
  // Another process may have been faster; then its file is the database.
  if (auto named = rename_to_new(name, path); !named && named.error().code != Code::kConflict)
    return named;
  return {};
}

Result<> check_not_empty(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_size > 0) return {};
  return fail(Code::kCorrupt,
              "the file is empty, so what it held is lost; restore a backup, or remove the file to "
              "begin with a new database");
}

}  // namespace coffer::sql
