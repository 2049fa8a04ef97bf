// One connection to PostgreSQL through libpq.
// Invariant: behind a pooler nothing is left in the session: statements are unnamed, settings last
// as long as a transaction.
#pragma once

#include <libpq-fe.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sql/impl.h"
#include "sql/stop_signal.h"

namespace coffer::sql {

struct FreeResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using PgResult = std::unique_ptr<PGresult, FreeResult>;

inline constexpr int kBinaryRows = 1;

// How many rows an INSERT, UPDATE or DELETE changed; 0 for others.
std::int64_t changed_rows(const PGresult* result);

// A named statement is prepared once per connection. Behind a pooler all are unnamed.
enum class Naming : std::uint8_t { kNamed, kUnnamed };

// Parameters as libpq takes them: bytes and text in binary form, numbers as text, so that the
// server decides their width. Views what it was made from. Reused from statement to statement.
class PgArguments {
 public:
  void set(const Params& params);
  int count() const { return count_; }
  const char* const* values() const { return values_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  int count_ = 0;
  std::array<const char*, kMaxParams> values_;
  std::array<int, kMaxParams> lengths_, formats_;
  std::array<std::array<char, 24>, kMaxParams> numbers_;
};

class PgExchange;

// Whom to connect to: keywords of libpq and their values, of one host.
using PgTarget = std::vector<std::pair<std::string, std::string>>;

// The connection never blocks: whoever has to wait for the server does it in wait_for(), which has
// a deadline and ends when the process stops. After a wait that was in vain the connection is
// broken, and nothing is sent or read any more, not even when it is closed.
class PostgresDriver final : public Driver {
 public:
  explicit PostgresDriver(const DatabaseOptions& options) : options_(options) {}
  ~PostgresDriver() override { PQfinish(connection_); }
  Result<> open(const Location& location);

  Dialect dialect() const override { return Dialect::kPostgres; }
  Result<std::unique_ptr<Cursor>> query(std::string_view sql, const Params& params) override;
  Result<std::unique_ptr<Cursor>> stream(std::string_view sql, const Params& params) override;
  Result<std::int64_t> execute(std::string_view sql, const Params& params) override;
  Result<> script(std::string_view sql) override;
  Result<std::unique_ptr<BatchSink>> batch(std::string_view sql) override;
  Result<std::unique_ptr<BatchSink>> insert_into(
      std::string_view table, std::span<const std::string_view> columns) override;
  Result<std::vector<std::unique_ptr<Cursor>>> run_all(std::span<const Statement> statements,
                                                       Ending ending) override;
  // Sends nothing: BEGIN travels with what comes first.
  Result<> begin(const TransactionOptions& options) override;
  Result<> commit() override;
  void rollback() override;
  bool alive() override;

  // For cursors, batches and pipelines.
  PGconn* handle() const { return connection_; }
  // Whether nothing can be sent or read any more.
  bool is_broken() const { return !unanswered_.empty() || PQstatus(connection_) != CONNECTION_OK; }
  // Waits until the socket is ready, and reads what has come. False if the connection is broken.
  bool wait_for(short events);
  // Sends all that is queued, and reads what comes meanwhile. False if the connection is broken.
  bool flush();
  // The next result, null between those of two statements; nothing if the connection is broken.
  std::optional<PgResult> next_result();
  // Ends something that the server does at once, or that is not worth a long wait.
  void run_briefly(const std::string& text);
  bool pooled() const { return pooled_; }
  PgArguments& arguments() { return arguments_; }
  // The statement's name on this connection, prepared if need be; behind a pooler it is unnamed and
  // valid until the next one is prepared. Sends a BEGIN that is still to be sent.
  Result<std::string> prepare(const std::string& sql);
  const std::string* find_prepared(const std::string& sql) const;
  void remember_prepared(const std::string& sql, const std::string& name);
  std::string new_name() { return fmt::format("coffer_{}", ++names_); }
  // A result that is none of an error.
  Result<PgResult> check(PGresult* result, std::string_view sql);
  // Statements one after another in one wait; before them what take_preamble() says, after them
  // COMMIT if that ends it.
  Result<std::vector<PgResult>> exchange(std::span<const Statement> statements, Naming naming,
                                         Ending ending);

 private:
  Result<> connect(const PgTarget& target);
  void abandon(WaitEnd end, const std::string& from);
  Result<> set_up_session(Pooling pooling);
  // Sends text, also several statements, and waits. The last result, or the first that is an error;
  // null if the connection broke before.
  PgResult ask(const std::string& text);
  PgResult last_result();
  Result<PgResult> run(std::string_view sql, const Params& params);
  Result<std::vector<PgResult>> travel(PgExchange& trip, Ending ending,
                                       const std::function<Result<>()>& fill);
  // Text alone, also several statements; nothing goes before it.
  Result<PgResult> run_text(const std::string& text, std::string_view sql);
  // Text without parameters, also several statements, after what take_preamble() says.
  Result<PgResult> run_simple(std::string_view sql);
  // What has to be said before the next statement: BEGIN, settings of the transaction, and the time
  // of a test's clock for coffer_now().
  std::vector<std::string> take_preamble();
  bool has_preamble() const { return !begin_.empty() || is_time_new(); }
  bool is_time_new() const {
    return options_.clock != nullptr && options_.clock->unix_ms() != sent_time_ms_;
  }
  Result<> make_room_for_prepared(std::size_t more);
  Failure failure_of(const PGresult* result, std::string_view sql) const;
  // The connection went while a commit was under way.
  std::unexpected<Error> outcome_unknown(Error error);

  const DatabaseOptions options_;
  std::string name_;  // of the database, without secrets
  PGconn* connection_ = nullptr;
  std::int64_t limit_ms_ = 0;  // of one wait for the server
  std::string unanswered_;     // why the last wait was in vain; then the connection is broken
  bool pooled_ = false;
  bool raise_durability_ = false;  // the server's default would acknowledge too early
  bool lost_ = false;
  std::vector<std::string> begin_;  // of a transaction that the server does not know yet
  std::int64_t sent_time_ms_ = -1, session_time_ms_ = -1;
  std::uint64_t names_ = 0;
  std::unordered_map<std::string, std::string> prepared_;  // by text
  PgArguments arguments_;
};

// Rows that libpq holds.
class PgCursor : public Cursor {
 public:
  explicit PgCursor(PgResult result) : result_(std::move(result)) {}
  Result<bool> next() override { return ++row_ < PQntuples(result_.get()); }
  int columns() const override { return PQnfields(result_.get()); }
  Cell cell(int column) const override;
  std::string name(int column) const override;
  std::int64_t affected() const override { return changed_rows(result_.get()); }

 protected:
  PgResult result_;
  int row_ = -1;
};

}  // namespace coffer::sql
