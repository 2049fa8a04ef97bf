// One connection to PostgreSQL through libpq.
// Invariant: behind a pooler nothing is left in the session: statements are unnamed, settings last
// as long as a transaction.
#pragma once

#include <libpq-fe.h>

#include <array>
#include <memory>
#include <string>
#include <unordered_map>

#include "sql/impl.h"

namespace coffer::sql {

struct FreeResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using PgResult = std::unique_ptr<PGresult, FreeResult>;

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
  Result<> begin(const TransactionOptions& options) override;
  Result<> commit() override;
  void rollback() override;
  bool alive() override;

  // For cursors and batches.
  PGconn* handle() const { return connection_; }
  bool pooled() const { return pooled_; }
  // The statement's name on this connection, prepared if need be; behind a pooler it is unnamed and
  // valid until the next one is prepared.
  Result<std::string> prepare(const std::string& sql);
  // A result that is none of an error.
  Result<PgResult> check(PGresult* result, std::string_view sql);
  // One statement by itself, with rows in binary form.
  Result<PgResult> run_unnamed(const std::string& sql, const Params& params);

 private:
  Result<> set_up_session(Pooling pooling);
  Result<PgResult> run(std::string_view sql, const Params& params);
  Result<PgResult> run_simple(const std::string& sql);
  // Tells coffer_now() the time of a test's clock.
  Result<> send_time();
  Result<> send_time(bool local);  // for this transaction only
  Failure failure_of(const PGresult* result, std::string_view sql) const;

  const DatabaseOptions options_;
  PGconn* connection_ = nullptr;
  bool pooled_ = false;
  bool raise_durability_ = false;  // the server's default would acknowledge too early
  bool lost_ = false;
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

 protected:
  PgResult result_;
  int row_ = -1;
};

}  // namespace coffer::sql
