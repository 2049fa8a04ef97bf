// Statements and their rows, transactions and batches, on either engine.
// Statements are written with $1, $2 … and prepared once per connection. Integer columns are BIGINT
// on PostgreSQL. Nothing here is thread-safe: a connection belongs to one thread at a time. Rows,
// Batch and Transaction must go before what they came from.
//
// Codes of every statement: kConflict (unique, foreign key, a trigger's objection), kInvalidInput
// (CHECK, NOT NULL, wrong or too large values), kTooLarge, kUnavailable (busy, lost connection,
// full disk), kTimeout, kCorrupt, kForbidden, kInternal (wrong SQL). docs/formats/sql.md has the
// table, and what Error::reason says.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <coffer/sql/database.h>

#include "base/result.h"
#include "sql/value.h"

namespace coffer::sql {

class Driver;
class Cursor;
class BatchSink;
class Pool;

// The rows of a statement, one at a time.
class Rows {
 public:
  explicit Rows(std::unique_ptr<Cursor> cursor);
  Rows(Rows&&) noexcept;
  Rows& operator=(Rows&&) noexcept;
  ~Rows();

  // Goes to the next row, the first at first; false after the last. On SQLite this is where
  // the work for all rows but the first is done, and where it can fail.
  Result<bool> next();

  // A field of the current row, from column 0. T: an integer, a strong one, bool, std::string,
  // Bytes, FixedBytes, or a view (std::string_view, ByteView) that lives until the next call of
  // next(); std::optional of these where NULL is allowed. PostgreSQL's uuid columns are bytes, 16
  // of them: FixedBytes<16> or ByteView reads them, and is a parameter for `$1::uuid`. Errors:
  // kInternal for another type, NULL or no such column, kInvalidInput for a value that does not fit
  // T.
  template <typename T>
  Result<T> get(int column) const {
    T value{};
    if (auto read_it = read(column, value); !read_it)
      return std::unexpected(std::move(read_it).error());
    return value;
  }
  bool is_null(int column) const;
  int columns() const;

  // How many rows an INSERT, UPDATE or DELETE changed; 0 for every other statement. For rows of
  // query() on SQLite only once next() has returned false.
  std::int64_t affected() const;

 private:
  template <std::integral T>
  Result<> read(int column, T& out) const {
    const std::int64_t value = TRY(integer(column));
    if (!std::in_range<T>(value)) return does_not_fit(column);
    out = static_cast<T>(value);
    return {};
  }
  template <std::size_t N, typename Tag>
  Result<> read(int column, FixedBytes<N, Tag>& out) const {
    const ByteView bytes = TRY(data(column, Cell::Kind::kBytes));
    if (bytes.size() != N) return does_not_fit(column);
    out = FixedBytes<N, Tag>::from(bytes.data());
    return {};
  }
  template <typename Tag>
  Result<> read(int column, StrongU64<Tag>& out) const {
    return read(column, out.value);
  }
  template <typename T>
  Result<> read(int column, std::optional<T>& out) const {
    if (is_null(column)) return {};
    return read(column, out.emplace());
  }
  Result<> read(int column, bool& out) const;
  Result<> read(int column, std::string_view& out) const;
  Result<> read(int column, std::string& out) const;
  Result<> read(int column, ByteView& out) const;
  Result<> read(int column, Bytes& out) const;
  Result<Cell> cell(int column) const;
  Result<std::int64_t> integer(int column) const;
  Result<ByteView> data(int column, Cell::Kind kind) const;
  std::unexpected<Error> wrong_type(int column, Cell::Kind wanted, const Cell& got) const;
  std::unexpected<Error> does_not_fit(int column) const;

  std::unique_ptr<Cursor> cursor_;
};

// What a connection and a transaction have in common: reading.
class Reader {
 public:
  Dialect dialect() const;

  // The rows of one statement. On PostgreSQL all of them are fetched first: put a LIMIT, or use
  // Transaction::stream.
  Result<Rows> query(std::string_view sql, Params params = {});

  // The one row there is, or nothing. Errors also: kInternal if there are more.
  template <typename... Ts>
  Result<std::optional<std::tuple<Ts...>>> one(std::string_view sql, Params params = {}) {
    static_assert(((!std::same_as<Ts, std::string_view> && !std::same_as<Ts, ByteView>) && ...),
                  "a view would outlive its row");
    Rows rows = TRY(query(sql, params));
    if (!TRY(rows.next())) return std::nullopt;
    std::tuple<Ts...> values;
    TRY(read_all(rows, values, std::index_sequence_for<Ts...>()));
    if (TRY(rows.next())) return more_than_one(sql);
    return values;
  }
  // Its one column.
  template <typename T>
  Result<std::optional<T>> value(std::string_view sql, Params params = {}) {
    auto row = TRY(one<T>(sql, params));
    if (!row) return std::nullopt;
    return std::get<0>(std::move(*row));
  }

  // Steps that SQLite's virtual machine has taken on this connection: a measure of work that does
  // not depend on the clock. 0 on PostgreSQL, which has EXPLAIN (ANALYZE, BUFFERS).
  std::int64_t vm_steps() const;
  // How often this connection has waited for an answer of the server, from its opening on: the
  // other cost that does not depend on the clock. Always 0 on SQLite. Database::Stats has the sum.
  std::int64_t server_waits() const;

 protected:
  explicit Reader(Driver* driver) : driver_(driver) {}
  Driver* driver_;

 private:
  template <typename Tuple, std::size_t... I>
  static Result<> read_all(const Rows& rows, Tuple& values, std::index_sequence<I...>) {
    Result<> done;
    (void)((done = read_one(rows, static_cast<int>(I), std::get<I>(values))) && ...);
    return done;
  }
  template <typename T>
  static Result<> read_one(const Rows& rows, int column, T& out) {
    out = TRY(rows.get<T>(column));
    return {};
  }
  static std::unexpected<Error> more_than_one(std::string_view sql);
};

// Many rows through one statement. Rows may be sent on at any time between add() and finish(), and
// an error may belong to an earlier row. Until it is finished nothing else can be done in the
// transaction; without finish() the transaction cannot be committed.
class Batch {
 public:
  Batch(Driver* driver, std::unique_ptr<BatchSink> sink);
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) = delete;
  ~Batch();
  Result<> add(Params row);
  // How many rows were changed.
  Result<std::int64_t> finish();

 private:
  Driver* driver_;
  std::unique_ptr<BatchSink> sink_;
};

// One of several statements that are sent together. Views its text and its parameters, which must
// live until the call returns: so does what stands in the argument list,
//   transaction.run_all({{kLock, {ids.view()}}, {kRead, {ids.view()}}});
// but the braces of a Params that is stored in a variable are gone at its semicolon; there
// std::vector<Param> keeps them.
struct Statement {
  std::string_view sql;
  Params params = {};
};
inline constexpr std::size_t kMaxStatements = 256;  // in one call; more are kInternal

// Rolled back when it goes without a commit. After a statement failed there is only rolling back:
// every further statement, and the commit, answers with the same error.
//
// On PostgreSQL BEGIN is not sent by itself but together with the first statement, run_all() or
// script(), so that an unreachable server is noticed there. A transaction of
// `run_all({lock, read})` and `commit_with({insert})` waits twice for the server in all; one that
// did nothing never does.
class Transaction : public Reader {
 public:
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  // A SELECT of any number of rows, in bounded memory.
  Result<Rows> stream(std::string_view sql, Params params = {});
  // How many rows were changed.
  Result<std::int64_t> execute(std::string_view sql, Params params = {});
  // Several statements without parameters.
  Result<> script(std::string_view sql);
  // Several different statements, one after another, in one wait for the server (a pipeline on
  // PostgreSQL). Each sees what those before it did; at READ COMMITTED each has a snapshot of its
  // own. The result has the rows of each, all of them fetched, in the order of the statements: put
  // a LIMIT. The first failure fails the transaction, and no later statement is executed.
  Result<std::vector<Rows>> run_all(std::span<const Statement> statements);
  Result<std::vector<Rows>> run_all(std::initializer_list<Statement> statements) {
    return run_all(std::span(statements.begin(), statements.size()));
  }
  // One statement for many rows: a pipeline on PostgreSQL.
  Result<Batch> batch(std::string_view sql);
  // Plain inserts: COPY on PostgreSQL. The names come from the program, never from input.
  Result<Batch> insert_into(std::string_view table, std::span<const std::string_view> columns);

  // Calls body; what it did is undone if it returns an error, and the transaction can go on. Only a
  // statement that failed fails all of the transaction, here as everywhere. Not within itself.
  // Returns what body returns.
  template <typename Body>
  auto attempt(Body&& body) -> std::invoke_result_t<Body&> {
    TRY(script("SAVEPOINT attempt"));
    auto answer = body();
    TRY(script(answer ? "RELEASE attempt" : "ROLLBACK TO attempt; RELEASE attempt"));
    return answer;
  }

  // Durable when it returns. Errors also: kUnavailable, not retryable, when the connection was lost
  // and nobody knows whether it is committed.
  Result<> commit();
  // As run_all() followed by commit(), in one wait for the server: durable when it returns, and
  // nothing is committed if a statement fails. The transaction has ended in either case. Errors:
  // those of both. A connection that is lost meanwhile leaves the outcome unknown, even if this was
  // the first statement.
  Result<std::vector<Rows>> commit_with(std::span<const Statement> statements);
  Result<std::vector<Rows>> commit_with(std::initializer_list<Statement> statements) {
    return commit_with(std::span(statements.begin(), statements.size()));
  }
  // Never fails: what cannot be rolled back any more was never committed.
  void rollback();

 private:
  friend Result<Transaction> begin_on(Driver& driver, const TransactionOptions& options);
  explicit Transaction(Driver* driver) : Reader(driver) {}
};

// A connection of the pool; goes back when it goes. Outside a transaction it can only read.
class Connection : public Reader {
 public:
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;
  ~Connection();

  // One transaction at a time, without any retry: Database::run_transaction has that.
  Result<Transaction> begin(const TransactionOptions& options = {});

 private:
  friend class Database;
  Connection(Pool* pool, std::unique_ptr<Driver> driver);
  Pool* pool_;
  std::unique_ptr<Driver> owned_;
};

}  // namespace coffer::sql
