// A database, SQLite or PostgreSQL, with its pool of connections and transactions that try again.
// Invariant: a transaction is committed once. It is tried again only while it is certain that it
// was not committed, or if the caller says that doing it twice is the same as once.
#pragma once

#include <coffer/base/clock.h>
#include <coffer/base/result.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace coffer::sql {

class Connection;
class Reader;
class StopSignal;
class Transaction;
enum class Dialect : std::uint8_t { kSqlite, kPostgres };

// What may happen to the schema of a database that is opened.
enum class Schema : std::uint8_t {
  kMustBeCurrent,    // nothing: a database that lacks a migration is refused
  kCreateIfMissing,  // a module without tables gets them; an older one is refused
  kMigrate,          // all that is missing is applied
};

enum class Access : std::uint8_t { kRead, kWrite };
enum class Isolation : std::uint8_t { kReadCommitted, kRepeatableRead, kSerializable };

struct TransactionOptions {
  Access access = Access::kWrite;  // kRead sees one moment of the database and cannot write
  Isolation isolation = Isolation::kReadCommitted;  // SQLite is always serializable
  int max_attempts = 10;
  int give_up_after_ms = 30'000;  // no new attempt later than this
  // Doing all of it twice is the same as once: then also a lost connection during the commit, which
  // leaves its outcome unknown, is followed by another attempt.
  bool idempotent = false;
};

// Whether a pooler such as PgBouncer in transaction mode stands before PostgreSQL: there are no
// named statements and no settings of a session then.
enum class Pooling : std::uint8_t { kDetect, kDirect, kPooled };

struct DatabaseOptions {
  // sqlite:PATH, or PostgreSQL's own forms: postgres://user@host/name or "host=… dbname=…". There
  // pooled=true|false may be among the parameters, and means Pooling.
  std::string location;
  std::size_t max_connections = 8;  // on SQLite readers; there is one writer more
  // Waiting for a free connection. On SQLite a transaction waits for its turn to write as long as
  // it would try again.
  int pool_timeout_ms = 5'000;
  int lock_timeout_ms = 5'000;  // waiting for another transaction
  // Of one statement. The connection to a server of PostgreSQL that does not keep it, because it
  // hangs, is given up some seconds later. 0: an hour.
  int statement_timeout_ms = 30'000;
  int connect_timeout_s = 5;  // PostgreSQL, for each host of the location
  // Ends every wait soon when the process stops (E13). Outlives the database.
  const StopSignal* stop = nullptr;
  bool create_if_missing = true;  // SQLite
  Pooling pooling = Pooling::kDetect;
  // What coffer_now() says (W8): without one the database's own clock. Also tells when to give up.
  // For tests.
  const Clock* clock = nullptr;
  // Between attempts. The seed makes the pauses repeatable; 0 takes one from the system.
  std::uint64_t seed = 0;
  std::function<void(std::int64_t ms)> pause;  // sleeps unless given
  // Hears the text of every statement before it is run, on the thread that runs it. For tests.
  std::function<void(std::string_view sql)> on_statement;
};

class Database {
 public:
  // Connects once, so that a wrong location is noticed. Errors: kUsage for a location that is none,
  // kNotFound, kUnavailable, kUnauthorized, kCorrupt for a file that is no database.
  static Result<std::unique_ptr<Database>> open(DatabaseOptions options);
  ~Database();  // every connection must be back

  Dialect dialect() const;
  // Where it is, without secrets: for messages.
  const std::string& name() const;
  const DatabaseOptions& options() const { return options_; }

  // A connection, after waiting for one. Thread-safe. Errors: kUnavailable if none is free in time,
  // and those of open().
  Result<Connection> acquire(Access access = Access::kRead);

  // Calls body in a transaction and commits, unless it returns an error. When the database asks for
  // another attempt (busy, serialization failure, deadlock, connection lost before the commit), all
  // of it is done again: body must have no effect but on the transaction. Thread-safe. Returns what
  // body returns. Errors: body's, acquire's, commit's; after the last attempt the last one,
  // retryable.
  template <typename Body>
  auto run_transaction(Body&& body, const TransactionOptions& options = {})
      -> std::invoke_result_t<Body&, Transaction&> {
    using Answer = std::invoke_result_t<Body&, Transaction&>;
    std::optional<Answer> answer;
    auto done = attempt_transaction(options, [&](Transaction& transaction) -> Result<> {
      answer.emplace(body(transaction));
      if (!*answer) return std::unexpected(answer->error());
      return {};
    });
    if (!done) return std::unexpected(std::move(done).error());
    return *std::move(answer);
  }

  struct Stats {
    std::size_t open = 0, idle = 0;
    std::uint64_t retries = 0;       // attempts after the first
    std::uint64_t server_waits = 0;  // of all connections so far; 0 on SQLite
  };
  Stats stats() const;  // thread-safe

 private:
  struct Impl;
  Database(DatabaseOptions options, std::unique_ptr<Impl> impl);
  Result<Connection> acquire_within(Access access, std::int64_t wait_ms);
  Result<> attempt_transaction(const TransactionOptions& options,
                               const std::function<Result<>(Transaction&)>& body);

  DatabaseOptions options_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace coffer::sql
