// Opening an SQLite file and its settings.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include <coffer/base/clock.h>
#include "base/result.h"
#include "sql/sqlite_impl.h"
#include "sql/stop_signal.h"

namespace coffer::sql {
namespace {

constexpr int kStepsBetweenChecks = 50'000;  // of SQLite's machine: under a millisecond
constexpr int kMostOpens = 10;               // while the file is replaced again and again

}  // namespace

SqliteDriver::SqliteDriver(const DatabaseOptions& options, Access access)
    : options_(options), access_(access), clock_(options.clock) {}

SqliteDriver::~SqliteDriver() {
  cache_.clear();
  clock_.forget_statement();
  sqlite3_close_v2(db_);
}

// A restore may replace the file while we wait for it. The log is found by its name: with the old
// file and the new one's log both would be ruined.
Result<> SqliteDriver::open(const std::string& path, bool create) {
  for (int attempt = 1;; ++attempt) {
    auto opened = open_once(path, create);
    if (!has_moved()) return opened;
    sqlite3_close_v2(std::exchange(db_, nullptr));
    if (attempt == kMostOpens)
      return failed(sqlite_failure(SQLITE_BUSY, "the file is replaced again and again", ""));
  }
}

Result<> SqliteDriver::open_once(const std::string& path, bool create) {
  if (create)
    TRY(make_database_file(path));
  else if (::access(path.c_str(), F_OK) != 0)
    return fail(errno_error(errno, "cannot open it"));
  const int rc =
      sqlite3_open_v2(path.c_str(), &db_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (rc != SQLITE_OK) return fail_with(rc, "");
  TRY(hold_file());
  if (has_moved()) return {};  // open() sees it too
  TRY(check_not_empty(path));
  TRY(configure());
  // A file that was not in WAL mode yet was let go for a moment. From a read on it is held again,
  // and open() looks once more.
  TRY(pragma("PRAGMA schema_version"));
  return {};
}

// The shared lock that a connection in WAL mode keeps until it is closed, and that sql::restore()
// needs for itself. SQLite would take it in the same step in which it opens the log.
Result<> SqliteDriver::hold_file() {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(db_, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  const std::int64_t begin_ms = system_clock().steady_ms();
  for (int pauses = 0;; ++pauses) {
    const int rc = file->pMethods->xLock(file, SQLITE_LOCK_SHARED);
    if (rc == SQLITE_OK) return {};
    if ((rc & 0xff) != SQLITE_BUSY || !wait_for_lock(begin_ms, pauses))
      return failed(sqlite_failure(rc, sqlite3_errstr(rc), ""));
  }
}

bool SqliteDriver::has_moved() const {
  int moved = 0;
  if (db_ != nullptr) sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved != 0;
}

Result<> SqliteDriver::configure() {
  sqlite3_busy_handler(db_, on_busy, this);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  TRY(use_wal());
  for (const char* text :
       {"PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON", "PRAGMA trusted_schema=OFF",
        "PRAGMA temp_store=MEMORY", "PRAGMA cache_size=-65536",
        // A checkpoint, which costs two syncs and writes every changed page once more, comes when
        // the log has 32 MiB. After it the log is cut to so many bytes.
        "PRAGMA wal_autocheckpoint=8192", "PRAGMA journal_size_limit=67108864"})
    TRY(pragma(text));
  if (access_ == Access::kRead) TRY(pragma("PRAGMA query_only=ON"));
  if (options_.statement_timeout_ms > 0)
    sqlite3_progress_handler(db_, kStepsBetweenChecks, past_deadline, this);
  return register_now();
}

// Changing the mode needs the file alone and does not wait for others by itself.
Result<> SqliteDriver::use_wal() {
  const std::int64_t begin_ms = system_clock().steady_ms();
  for (int pauses = 0;; ++pauses) {
    auto mode = pragma("PRAGMA journal_mode=WAL");
    if (mode && *mode == "wal") return {};
    if (mode)
      return fail(Code::kUnavailable,
                  "sqlite: no write-ahead log is possible here (mode {}); choose "
                  "a local file system",
                  *mode);
    if (!mode.error().retryable || !wait_for_lock(begin_ms, pauses))
      return fail(std::move(mode).error());
  }
}

// The first field of the answer, if there is one.
Result<std::string> SqliteDriver::pragma(const char* text) {
  std::string answer;
  const auto keep = [](void* to, int count, char** values, char**) {
    if (count > 0 && values[0] != nullptr) *static_cast<std::string*>(to) = values[0];
    return 0;
  };
  const int rc = sqlite3_exec(db_, text, keep, &answer, nullptr);
  if (rc != SQLITE_OK) return fail_with(rc, text);
  return answer;
}

// Innocuous: views and triggers may use it although the schema is not trusted.
Result<> SqliteDriver::register_now() {
  const int rc = sqlite3_create_function_v2(db_, "coffer_now", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS,
                                            this, now, nullptr, nullptr, nullptr);
  if (rc != SQLITE_OK) return fail_with(rc, "");
  return {};
}

// The same answer throughout one statement, as on PostgreSQL.
void SqliteDriver::now(sqlite3_context* context, int, sqlite3_value**) {
  auto& driver = *static_cast<SqliteDriver*>(sqlite3_user_data(context));
  if (driver.now_ms_ < 0) driver.now_ms_ = driver.clock_.now_ms(driver.db_);
  sqlite3_result_int64(context, driver.now_ms_);
}

int SqliteDriver::past_deadline(void* of) {
  const auto& driver = *static_cast<SqliteDriver*>(of);
  if (driver.deadline_ms_ == 0) return 0;
  const StopSignal* stop = driver.options_.stop;
  const std::int64_t end_ms = stop == nullptr
                                  ? driver.deadline_ms_
                                  : stop->end_of_wait(driver.began_ms_, driver.deadline_ms_);
  return system_clock().steady_ms() > end_ms ? 1 : 0;
}

bool SqliteDriver::wait_for_lock(std::int64_t begin_ms, int pauses) const {
  constexpr std::int64_t kLongestPauseMs = 20;
  const StopSignal* stop = options_.stop;
  std::int64_t end_ms = begin_ms + options_.lock_timeout_ms;
  if (stop != nullptr) end_ms = stop->end_of_wait(begin_ms, end_ms);
  const std::int64_t left_ms = end_ms - system_clock().steady_ms();
  if (left_ms <= 0) return false;
  const std::int64_t pause_ms = std::min(std::int64_t{1} << std::min(pauses, 10), kLongestPauseMs);
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(left_ms, pause_ms)));
  return true;
}

int SqliteDriver::on_busy(void* of, int pauses) {
  auto& driver = *static_cast<SqliteDriver*>(of);
  if (pauses == 0) driver.busy_since_ms_ = system_clock().steady_ms();
  return driver.wait_for_lock(driver.busy_since_ms_, pauses) ? 1 : 0;
}

Result<std::unique_ptr<Driver>> open_sqlite(const Location& location,
                                            const DatabaseOptions& options, Access access) {
  auto driver = std::make_unique<SqliteDriver>(options, access);
  TRY(driver->open(location.target, access == Access::kWrite && options.create_if_missing));
  return driver;
}

}  // namespace coffer::sql
