// One SQLite connection.
// Invariant: WAL and synchronous=FULL, so that a commit that returned is on the disk (E8).
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sql/impl.h"
#include "sql/sqlite_clock.h"

namespace coffer::sql {

// A new database without tables, unless there is something of this name already. Errors: those of
// the file system.
Result<> make_database_file(const std::string& path);
// Errors: kCorrupt for a file without content.
Result<> check_not_empty(const std::string& path);

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

// A prepared statement that is used by one at a time.
struct SqliteStatement {
  sqlite3_stmt* handle = nullptr;
  std::vector<int> numbers;  // of SQLite's parameter i + 1: its number after the $
  int parameters = 0;        // the highest of them
  bool in_use = false;

  SqliteStatement() = default;
  SqliteStatement(const SqliteStatement&) = delete;
  ~SqliteStatement() { sqlite3_finalize(handle); }
};

class SqliteDriver final : public Driver {
 public:
  SqliteDriver(const DatabaseOptions& options, Access access);
  ~SqliteDriver() override;
  // Makes the file if it may. What is open then is at the path, and stays there until it is closed.
  Result<> open(const std::string& path, bool create);

  Dialect dialect() const override { return Dialect::kSqlite; }
  Result<std::unique_ptr<Cursor>> query(std::string_view sql, const Params& params) override;
  Result<std::unique_ptr<Cursor>> stream(std::string_view sql, const Params& params) override {
    return query(sql, params);
  }
  Result<std::int64_t> execute(std::string_view sql, const Params& params) override;
  Result<> script(std::string_view sql) override;
  Result<std::unique_ptr<BatchSink>> batch(std::string_view sql) override;
  Result<std::unique_ptr<BatchSink>> insert_into(
      std::string_view table, std::span<const std::string_view> columns) override;
  Result<std::vector<std::unique_ptr<Cursor>>> run_all(std::span<const Statement> statements,
                                                       Ending ending) override;
  Result<> begin(const TransactionOptions& options) override;
  Result<> commit() override;
  void rollback() override;
  bool alive() override { return sqlite3_get_autocommit(db_) != 0; }
  std::int64_t vm_steps() const override { return vm_steps_; }

  // For cursors, batches and backups.
  sqlite3* handle() const { return db_; }
  Result<std::shared_ptr<SqliteStatement>> prepare(std::string_view sql);
  enum class Lifetime : std::uint8_t { kThisCall, kCopied };
  Result<> bind(SqliteStatement& statement, const Params& params, Lifetime lifetime);
  // One step, with the clock and the deadline of a new one. True for a row.
  Result<bool> step(SqliteStatement& statement);
  void finish(SqliteStatement& statement);
  // Runs a statement without rows to its end.
  Result<std::int64_t> run(SqliteStatement& statement, const Params& params);
  // How many rows the statement that has ended changed.
  std::int64_t changes_since(std::int64_t total_before) const;
  std::unexpected<Error> fail_with(int code, std::string_view sql);

 private:
  Result<> open_once(const std::string& path, bool create);
  Result<> hold_file();
  bool is_disk_full() const;
  bool has_moved() const;  // another file, or none, has its name now
  Result<> configure();
  Result<> use_wal();
  Result<> register_now();
  Result<std::string> pragma(const char* text);
  static void now(sqlite3_context* context, int, sqlite3_value**);
  static int past_deadline(void* driver);
  // Of a lock that another process has: pauses a little, unless that took too long already.
  bool wait_for_lock(std::int64_t begin_ms, int pauses) const;
  static int on_busy(void* driver, int pauses);

  const DatabaseOptions options_;
  const Access access_;
  SqliteClock clock_;
  sqlite3* db_ = nullptr;
  std::int64_t began_ms_ = 0;     // the statement that runs
  std::int64_t deadline_ms_ = 0;  // of it; 0 = none
  std::int64_t busy_since_ms_ = 0;
  std::int64_t now_ms_ = -1;  // what coffer_now() says to it, once asked
  std::int64_t vm_steps_ = 0;
  std::unordered_map<std::string, std::shared_ptr<SqliteStatement>, TextHash, std::equal_to<>>
      cache_;
};

}  // namespace coffer::sql
