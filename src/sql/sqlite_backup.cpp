#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "base/result.h"
#include "sql/backup.h"
#include "sql/rename_new.h"
#include "sql/sqlite_impl.h"

namespace coffer::sql {
namespace {

constexpr int kPagesAtOnce = 1'024;

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
struct FinishBackup {
  void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};

Failure failure_of(sqlite3* db, int rc) {
  return sqlite_failure(rc, sqlite3_errmsg(db), "");
}

// Removes an unfinished copy.
struct Remover {
  std::filesystem::path path;
  ~Remover() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove(path, ignored);
  }
};

// An empty file of this backup's own, of mode 0600: another one may have the same goal.
Result<std::filesystem::path> make_partial(const std::filesystem::path& to) {
  std::string name = to.string() + ".partial-XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return fail(errno_error(errno, "cannot create " + to.string()));
  ::close(file);
  return name;
}

Result<> copy_pages(sqlite3* from, sqlite3* to,
                    const std::function<bool(const BackupProgress&)>& progress) {
  const std::unique_ptr<sqlite3_backup, FinishBackup> copy(
      sqlite3_backup_init(to, "main", from, "main"));
  if (!copy) return fail(failure_of(to, sqlite3_extended_errcode(to)).error);
  for (;;) {
    const int rc = sqlite3_backup_step(copy.get(), kPagesAtOnce);
    if (rc != SQLITE_OK && rc != SQLITE_DONE)
      return fail(sqlite_failure(rc, sqlite3_errstr(rc), "").error);
    const int all = sqlite3_backup_pagecount(copy.get());
    const bool go_on = !progress || progress({all - sqlite3_backup_remaining(copy.get()), all});
    if (rc == SQLITE_DONE) return {};
    if (!go_on) return fail(Code::kCancelled, "the backup was stopped");
  }
}

// The copy leaves WAL mode: it is one file then, also for whoever opens it read-only.
Result<> check_copy(sqlite3* copy) {
  std::string answer;
  const auto keep = [](void* to, int, char** values, char**) {
    *static_cast<std::string*>(to) += values[0] != nullptr ? values[0] : "";
    return 0;
  };
  for (const char* sql : {"PRAGMA journal_mode=DELETE", "PRAGMA quick_check(1)"}) {
    answer.clear();
    if (const int rc = sqlite3_exec(copy, sql, keep, &answer, nullptr); rc != SQLITE_OK)
      return fail(failure_of(copy, rc).error);
  }
  if (answer != "ok")
    return fail(Code::kCorrupt, "the copy is damaged: {}; check the disk, and the database itself",
                one_line(answer));
  return {};
}

}  // namespace

Result<> backup(Database& database, const std::filesystem::path& to,
                const std::function<bool(const BackupProgress&)>& progress) {
  if (database.dialect() != Dialect::kSqlite)
    return fail(Code::kUsage, "PostgreSQL is backed up with its own tools: pg_dump, pg_basebackup");
  if (TRY(file_exists(to)))
    return fail(Code::kConflict, "{} exists already; choose another name", to.string());
  const std::filesystem::path parent = to.has_parent_path() ? to.parent_path() : ".";
  if (!TRY(file_exists(parent)))
    return fail(Code::kNotFound, "there is no directory {} for the backup", parent.string());
  const Location location = TRY(parse_location(database.options().location));
  SqliteDriver source(database.options(), Access::kRead);
  TRY(source.open(location.target, false));
  // An open reading transaction keeps the pages of one moment, so that a writer does not make the
  // backup begin again.
  Transaction moment = TRY(begin_on(source, {.access = Access::kRead}));
  (void)TRY(moment.value<std::int64_t>("SELECT count(*) FROM sqlite_master"));

  Remover partial{TRY(make_partial(to))};
  {
    sqlite3* handle = nullptr;
    const int rc = sqlite3_open_v2(
        partial.path.c_str(), &handle,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
    const std::unique_ptr<sqlite3, CloseDatabase> copy(handle);
    if (rc != SQLITE_OK) return fail(failure_of(handle, rc).error.in(to.string()));
    TRY_IN(to.string(), copy_pages(source.handle(), handle, progress));
    TRY_IN(to.string(), check_copy(handle));
  }
  TRY(sync_to_disk(partial.path));
  TRY(rename_to_new(partial.path, to));
  partial.path.clear();
  return sync_to_disk(parent);
}

}  // namespace coffer::sql
