// What an engine implements behind the facade; not for other modules.
// Invariant: a driver remembers the worst trouble of its current transaction, so that whoever runs
// the transaction knows whether another attempt is safe, whatever the body made of the error.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sql/connection.h"

namespace coffer::sql {

// What a failed statement means for its transaction; later ones are worse.
enum class Trouble : std::uint8_t {
  kNone,
  kFailed,          // only rolling back is left
  kTryAgain,        // the same again may succeed
  kLost,            // the connection is gone, nothing is committed
  kUnknownOutcome,  // it is gone and the commit was under way
};

struct Failure {
  Error error;
  Trouble trouble = Trouble::kFailed;
};

class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual Result<bool> next() = 0;
  virtual int columns() const = 0;
  virtual Cell cell(int column) const = 0;
  virtual std::string name(int column) const = 0;
  virtual std::int64_t affected() const = 0;  // rows changed
};

class BatchSink {
 public:
  virtual ~BatchSink() = default;  // without finish(): leaves the connection usable, for a rollback
  virtual Result<> add(const Params& row) = 0;
  virtual Result<std::int64_t> finish() = 0;
};

// What follows on the last of several statements.
enum class Ending : std::uint8_t { kOpen, kCommit };

class Driver {
 public:
  virtual ~Driver() = default;
  virtual Dialect dialect() const = 0;
  virtual Result<std::unique_ptr<Cursor>> query(std::string_view sql, const Params& params) = 0;
  virtual Result<std::unique_ptr<Cursor>> stream(std::string_view sql, const Params& params) = 0;
  virtual Result<std::int64_t> execute(std::string_view sql, const Params& params) = 0;
  virtual Result<> script(std::string_view sql) = 0;
  virtual Result<std::unique_ptr<BatchSink>> batch(std::string_view sql) = 0;
  virtual Result<std::unique_ptr<BatchSink>> insert_into(
      std::string_view table, std::span<const std::string_view> columns) = 0;
  // All rows of each. After an error with kCommit there is only rolling back.
  virtual Result<std::vector<std::unique_ptr<Cursor>>> run_all(
      std::span<const Statement> statements, Ending ending) = 0;
  virtual Result<> begin(const TransactionOptions& options) = 0;
  virtual Result<> commit() = 0;
  virtual void rollback() = 0;
  virtual bool alive() = 0;  // may be used again; asks nobody
  virtual std::int64_t vm_steps() const { return 0; }

  // Before a statement: may there be one now?
  Result<> ready() const;
  Result<> ready(std::string_view sql) const;
  Result<> begin_transaction(const TransactionOptions& options);
  // The cursors of run_all(), once the statements are checked.
  Result<std::vector<std::unique_ptr<Cursor>>> run_statements(std::span<const Statement> statements,
                                                              Ending ending);
  Result<> commit_transaction();
  void rollback_transaction();
  bool in_transaction() const { return in_transaction_; }
  Trouble trouble() const { return trouble_; }
  const Error& failure() const { return failure_; }  // the first of the transaction
  // Remembers a failure and gives its error.
  std::unexpected<Error> failed(Failure failure);
  // A batch has the connection to itself until it is over.
  void set_batch_open(bool open) { batch_open_ = open; }
  void tell_statements(std::function<void(std::string_view sql)> to) {
    on_statement_ = std::move(to);
  }
  // Counts the waits for the server also there; it outlives the driver.
  void count_waits(std::atomic<std::uint64_t>* total) { total_waits_ = total; }
  void waited() {
    ++waits_;
    if (total_waits_ != nullptr) total_waits_->fetch_add(1, std::memory_order_relaxed);
  }
  std::int64_t waits() const { return waits_; }

 private:
  std::function<void(std::string_view sql)> on_statement_;
  bool in_transaction_ = false;
  Trouble trouble_ = Trouble::kNone;
  Error failure_;
  bool batch_open_ = false;
  std::int64_t waits_ = 0;
  std::atomic<std::uint64_t>* total_waits_ = nullptr;
};

// A location taken apart.
struct Location {
  Dialect dialect = Dialect::kSqlite;
  std::string target;  // a path, or what libpq takes
  std::string name;    // without secrets
  Pooling pooling = Pooling::kDetect;
};
// Errors: kUsage.
Result<Location> parse_location(std::string_view text);

// New connections. `access` matters on SQLite alone.
Result<std::unique_ptr<Driver>> open_sqlite(const Location& location,
                                            const DatabaseOptions& options, Access access);
Result<std::unique_ptr<Driver>> open_postgres(const Location& location,
                                              const DatabaseOptions& options);
Result<std::string> postgres_name(const std::string& conninfo);
Result<std::string> postgres_tool_flags(const std::string& conninfo);

// The first line, without control characters: errors are one line whatever the engine says.
std::string one_line(std::string_view text);
// The beginning of a statement, for messages.
std::string brief(std::string_view sql);

// Either of them.
Result<std::unique_ptr<Driver>> open_driver(const Location& location,
                                            const DatabaseOptions& options, Access access);
Result<Transaction> begin_on(Driver& driver, const TransactionOptions& options);

// A connection of its own for changes of the schema, which may take long and wait for others.
Result<std::unique_ptr<Driver>> open_for_schema(const Database& database);
// Until the end of the transaction no other program changes the schema. On SQLite the write lock of
// the transaction is that already.
Result<> lock_schema(Transaction& transaction);

// The one table of errors (errors.cpp). `code` is SQLite's extended code, `state` an SQLSTATE.
Failure sqlite_failure(int code, std::string_view message, std::string_view sql);
Failure postgres_failure(std::string_view state, std::string_view message, std::string_view sql);

}  // namespace coffer::sql
