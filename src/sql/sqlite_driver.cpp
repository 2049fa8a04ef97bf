// Statements and transactions on one SQLite connection.
#include <fmt/ranges.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>

#include <coffer/base/clock.h>
#include "base/result.h"
#include "sql/sqlite_impl.h"

namespace coffer::sql {
namespace {

constexpr std::size_t kMaxCachedStatements = 256;

// The number in a parameter's name, "$12"; 0 if it has another form.
int parameter_number(const char* name) {
  if (name == nullptr || name[0] != '$') return 0;
  const std::string_view digits = name + 1;
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool all = error == std::errc() && end == digits.data() + digits.size();
  return all && number <= static_cast<int>(kMaxParams) ? number : 0;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

// Holds the statement until it goes. The first row is already there when it is made.
class SqliteCursor final : public Cursor {
 public:
  // `changes_before` counts the changes of the connection before the first step.
  SqliteCursor(SqliteDriver& driver, std::shared_ptr<SqliteStatement> statement, bool has_row,
               std::int64_t changes_before)
      : driver_(driver),
        statement_(std::move(statement)),
        changes_before_(changes_before),
        prefetched_(has_row) {
    if (!has_row) end();
  }
  ~SqliteCursor() override { driver_.finish(*statement_); }

  Result<bool> next() override {
    if (prefetched_) {
      prefetched_ = false;
      return true;
    }
    if (ended_) return false;
    const bool row = TRY(driver_.step(*statement_));
    if (!row) end();
    return row;
  }
  std::int64_t affected() const override { return affected_; }
  int columns() const override { return sqlite3_column_count(statement_->handle); }
  std::string name(int column) const override {
    const char* name = sqlite3_column_name(statement_->handle, column);
    return name != nullptr ? name : "";
  }

  Cell cell(int column) const override {
    sqlite3_stmt* handle = statement_->handle;
    if (ended_) return {};
    switch (sqlite3_column_type(handle, column)) {
      case SQLITE_INTEGER: return {Cell::Kind::kInteger, sqlite3_column_int64(handle, column)};
      case SQLITE_TEXT:
        return {Cell::Kind::kText, 0, data(sqlite3_column_text(handle, column), column)};
      case SQLITE_BLOB:
        return {Cell::Kind::kBytes, 0, data(sqlite3_column_blob(handle, column), column)};
      case SQLITE_NULL: return {};
      default: return {Cell::Kind::kOther};
    }
  }

 private:
  void end() {
    ended_ = true;
    if (sqlite3_stmt_readonly(statement_->handle) == 0)
      affected_ = driver_.changes_since(changes_before_);
  }
  ByteView data(const void* at, int column) const {
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_->handle, column));
    return {static_cast<const std::uint8_t*>(at), size};
  }

  SqliteDriver& driver_;
  std::shared_ptr<SqliteStatement> statement_;
  const std::int64_t changes_before_;
  std::int64_t affected_ = 0;
  bool prefetched_, ended_ = false;
};

// All rows of a statement, copied, so that the next one may change what they came from.
class CopiedRows final : public Cursor {
 public:
  static Result<std::unique_ptr<CopiedRows>> of(Cursor& cursor) {
    auto copy = std::make_unique<CopiedRows>();
    for (int i = 0; i < cursor.columns(); ++i) copy->names_.push_back(cursor.name(i));
    while (TRY(cursor.next()))
      for (int i = 0; i < cursor.columns(); ++i) copy->add(cursor.cell(i));
    copy->affected_ = cursor.affected();
    return copy;
  }

  Result<bool> next() override {
    if (next_row_ * names_.size() >= cells_.size()) return false;
    ++next_row_;
    return true;
  }
  int columns() const override { return static_cast<int>(names_.size()); }
  std::string name(int column) const override { return names_[static_cast<std::size_t>(column)]; }
  Cell cell(int column) const override {
    if (next_row_ == 0) return {};
    const Copy& copy = cells_[(next_row_ - 1) * names_.size() + static_cast<std::size_t>(column)];
    return {copy.kind, copy.integer, ByteView(data_).subspan(copy.begin, copy.size)};
  }
  std::int64_t affected() const override { return affected_; }

 private:
  struct Copy {
    Cell::Kind kind;
    std::int64_t integer;
    std::size_t begin, size;  // in data_
  };
  void add(const Cell& cell) {
    cells_.push_back({cell.kind, cell.integer, data_.size(), cell.data.size()});
    append(data_, cell.data);
  }

  std::vector<std::string> names_;
  std::vector<Copy> cells_;
  Bytes data_;
  std::size_t next_row_ = 0;
  std::int64_t affected_ = 0;
};

class SqliteBatch final : public BatchSink {
 public:
  SqliteBatch(SqliteDriver& driver, std::shared_ptr<SqliteStatement> statement)
      : driver_(driver), statement_(std::move(statement)) {}
  ~SqliteBatch() override { driver_.finish(*statement_); }
  Result<> add(const Params& row) override {
    TRY(fail_again());
    changed_ += TRY(driver_.run(*statement_, row));
    return {};
  }
  Result<std::int64_t> finish() override {
    TRY(fail_again());
    return changed_;
  }

 private:
  // After a row failed the batch has failed.
  Result<> fail_again() const {
    if (driver_.trouble() == Trouble::kNone) return {};
    return fail(driver_.failure());
  }

  SqliteDriver& driver_;
  std::shared_ptr<SqliteStatement> statement_;
  std::int64_t changed_ = 0;
};

}  // namespace

// Less than the step by which SQLite grows its shared memory. What it cannot grow it calls an I/O
// error.
bool SqliteDriver::is_disk_full() const {
  constexpr std::uint64_t kStep = 32u << 10;
  const char* file = db_ != nullptr ? sqlite3_db_filename(db_, "main") : nullptr;
  struct statvfs disk{};
  return file != nullptr && ::statvfs(file, &disk) == 0 && disk.f_bavail * disk.f_frsize < kStep;
}

std::unexpected<Error> SqliteDriver::fail_with(int code, std::string_view sql) {
  const char* message = db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(code);
  if ((code & 0xff) == SQLITE_IOERR && is_disk_full()) code = SQLITE_FULL;
  return failed(sqlite_failure(code, message, sql));
}

Result<std::shared_ptr<SqliteStatement>> SqliteDriver::prepare(std::string_view sql) {
  const auto found = cache_.find(sql);
  if (found != cache_.end() && !found->second->in_use) {
    found->second->in_use = true;
    return found->second;
  }
  auto statement = std::make_shared<SqliteStatement>();
  const char* tail = nullptr;
  const int rc = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                                    SQLITE_PREPARE_PERSISTENT, &statement->handle, &tail);
  if (rc != SQLITE_OK) return fail_with(rc, sql);
  const auto used = static_cast<std::size_t>(tail - sql.data());
  if (statement->handle == nullptr || !is_blank(sql.substr(used)))
    return failed({make_error(Code::kInternal, "not one statement: " + brief(sql))});
  for (int i = 1; i <= sqlite3_bind_parameter_count(statement->handle); ++i) {
    const int number = parameter_number(sqlite3_bind_parameter_name(statement->handle, i));
    if (number == 0)
      return failed({make_error(Code::kInternal, "parameters are $1, $2 …, in: " + brief(sql))});
    statement->numbers.push_back(number);
    statement->parameters = std::max(statement->parameters, number);
  }
  statement->in_use = true;
  if (found == cache_.end()) {
    // Far more than a program's own statements; forgetting all idle ones is rare and simple.
    if (cache_.size() >= kMaxCachedStatements)
      std::erase_if(cache_, [](const auto& entry) { return !entry.second->in_use; });
    if (cache_.size() < kMaxCachedStatements) cache_.emplace(sql, statement);
  }
  return statement;
}

Result<> SqliteDriver::bind(SqliteStatement& statement, const Params& params, Lifetime lifetime) {
  if (params.size() != static_cast<std::size_t>(statement.parameters))
    return failed({make_error(Code::kInternal,
                              fmt::format("{} parameters given, {} wanted, in: {}", params.size(),
                                          statement.parameters, sqlite3_sql(statement.handle)))});
  const auto kept = lifetime == Lifetime::kCopied ? SQLITE_TRANSIENT : SQLITE_STATIC;
  int at = 0;
  for (const int number : statement.numbers) {
    const Param::Value& value = params[static_cast<std::size_t>(number - 1)].value();
    sqlite3_stmt* handle = statement.handle;
    ++at;
    int rc = SQLITE_OK;
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      rc = sqlite3_bind_int64(handle, at, *integer);
    else if (const auto* truth = std::get_if<bool>(&value))
      rc = sqlite3_bind_int64(handle, at, *truth ? 1 : 0);
    else if (const auto* text = std::get_if<std::string_view>(&value))
      // Data of no length may be a null pointer, which would bind NULL.
      rc = sqlite3_bind_text64(handle, at, text->empty() ? "" : text->data(), text->size(), kept,
                               SQLITE_UTF8);
    else if (const auto* bytes = std::get_if<ByteView>(&value))
      rc = bytes->empty() ? sqlite3_bind_zeroblob(handle, at, 0)
                          : sqlite3_bind_blob64(handle, at, bytes->data(), bytes->size(), kept);
    else
      rc = sqlite3_bind_null(handle, at);
    if (rc != SQLITE_OK) return fail_with(rc, sqlite3_sql(handle));
  }
  return {};
}

Result<bool> SqliteDriver::step(SqliteStatement& statement) {
  if (sqlite3_stmt_busy(statement.handle) == 0) now_ms_ = -1;
  if (options_.statement_timeout_ms > 0) {
    began_ms_ = system_clock().steady_ms();
    deadline_ms_ = began_ms_ + options_.statement_timeout_ms;
  }
  const int rc = sqlite3_step(statement.handle);
  deadline_ms_ = 0;
  if (rc == SQLITE_ROW) return true;
  if (rc == SQLITE_DONE) return false;
  auto error = fail_with(rc, sqlite3_sql(statement.handle));
  sqlite3_reset(statement.handle);
  return error;
}

void SqliteDriver::finish(SqliteStatement& statement) {
  vm_steps_ += sqlite3_stmt_status(statement.handle, SQLITE_STMTSTATUS_VM_STEP, 1);
  sqlite3_reset(statement.handle);
  sqlite3_clear_bindings(statement.handle);
  statement.in_use = false;
}

Result<std::unique_ptr<Cursor>> SqliteDriver::query(std::string_view sql, const Params& params) {
  auto statement = TRY(prepare(sql));
  const std::int64_t before = sqlite3_total_changes64(db_);
  // From here on the cursor gives the statement back. The first step is taken now, so that what a
  // statement writes is written, and its errors are known, when this returns.
  auto bound = bind(*statement, params, Lifetime::kCopied);
  auto first = bound ? step(*statement) : Result<bool>(std::unexpected(std::move(bound).error()));
  auto cursor =
      std::make_unique<SqliteCursor>(*this, std::move(statement), first && *first, before);
  if (!first) return fail(std::move(first).error());
  return cursor;
}

Result<std::int64_t> SqliteDriver::run(SqliteStatement& statement, const Params& params) {
  TRY(bind(statement, params, Lifetime::kThisCall));
  const std::int64_t before = sqlite3_total_changes64(db_);
  while (TRY(step(statement))) {
  }
  const std::int64_t changed = changes_since(before);
  sqlite3_reset(statement.handle);
  return changed;
}

std::int64_t SqliteDriver::changes_since(std::int64_t total_before) const {
  // sqlite3_changes() keeps an old number when a statement changes no row at all, such as DDL.
  return sqlite3_total_changes64(db_) != total_before ? sqlite3_changes64(db_) : 0;
}

Result<std::vector<std::unique_ptr<Cursor>>> SqliteDriver::run_all(
    std::span<const Statement> statements, Ending ending) {
  std::vector<std::unique_ptr<Cursor>> rows;
  for (const Statement& statement : statements) {
    auto cursor = TRY(query(statement.sql, statement.params));
    rows.push_back(TRY(CopiedRows::of(*cursor)));
  }
  if (ending == Ending::kCommit) TRY(commit());
  return rows;
}

Result<std::int64_t> SqliteDriver::execute(std::string_view sql, const Params& params) {
  auto statement = TRY(prepare(sql));
  auto changed = run(*statement, params);
  finish(*statement);
  return changed;
}

Result<> SqliteDriver::script(std::string_view sql) {
  now_ms_ = -1;
  const std::string text(sql);
  const int rc = sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr);
  if (rc != SQLITE_OK) return fail_with(rc, sql);
  return {};
}

Result<std::unique_ptr<BatchSink>> SqliteDriver::batch(std::string_view sql) {
  return std::make_unique<SqliteBatch>(*this, TRY(prepare(sql)));
}

Result<std::unique_ptr<BatchSink>> SqliteDriver::insert_into(
    std::string_view table, std::span<const std::string_view> columns) {
  std::string places;
  for (std::size_t i = 1; i <= columns.size(); ++i)
    places += fmt::format("{}${}", i > 1 ? "," : "", i);
  return batch(
      fmt::format("INSERT INTO {}({}) VALUES({})", table, fmt::join(columns, ","), places));
}

Result<> SqliteDriver::begin(const TransactionOptions& options) {
  if (options.access == Access::kWrite && access_ == Access::kRead)
    return failed({make_error(Code::kInternal, "this connection is for reading")});
  if (options.access == Access::kRead) return script("BEGIN");
  TRY(script("BEGIN IMMEDIATE"));
  const int advanced = clock_.advance(db_);
  if (advanced == SQLITE_OK) return {};
  auto error = fail_with(advanced, "the time of the transaction");
  rollback();
  return error;
}

Result<> SqliteDriver::commit() {
  const int rc = sqlite3_exec(db_, "COMMIT", nullptr, nullptr, nullptr);
  if (rc == SQLITE_OK) return {};
  Failure failure = sqlite_failure(rc, sqlite3_errmsg(db_), "COMMIT");
  if ((rc & 0xff) == SQLITE_IOERR) {
    // The log may or may not have reached the disk.
    failure.trouble = Trouble::kUnknownOutcome;
    failure.error.message += "; it is not known whether the change was committed";
    failure.error.retryable = false;
  }
  rollback();
  return failed(std::move(failure));
}

void SqliteDriver::rollback() {
  if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace coffer::sql
