#include "sql/connection.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include <coffer/base/log.h>
#include "base/random.h"
#include "base/result.h"
#include "sql/impl.h"
#include "sql/pool_impl.h"
#include "sql/stop_signal.h"

namespace coffer::sql {
namespace {

constexpr std::int64_t kFirstPauseMs = 4, kLongestPauseMs = 500;

// The pool says kTimeout. To whoever asked, a database whose connections are all in use is not
// there now, whatever keeps them.
Error all_in_use(Error error) {
  if (error.code == Code::kTimeout) error.code = Code::kUnavailable;
  return error;
}

void sleep_ms(std::int64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

}  // namespace

struct Database::Impl {
  Location location;
  std::atomic<std::uint64_t> server_waits{0};  // before the pools, whose connections count in it
  std::unique_ptr<Pool> readers;               // on PostgreSQL for everything
  std::unique_ptr<Pool> writer;  // SQLite has one, so that threads queue here and not on its lock
  std::mutex rng_mutex;
  Rng rng{0};
  std::atomic<std::uint64_t> retries{0};

  Pool& pool(Access access) { return access == Access::kWrite && writer ? *writer : *readers; }

  // Doubles from attempt to attempt; the upper half is random, so that two that met do not meet
  // again.
  std::int64_t pause_after(int attempt) {
    const std::int64_t most = std::min(kLongestPauseMs, kFirstPauseMs << std::min(attempt, 10));
    std::lock_guard lock(rng_mutex);
    return static_cast<std::int64_t>(
        rng.between(static_cast<std::uint64_t>(most / 2), static_cast<std::uint64_t>(most)));
  }
};

Database::Database(DatabaseOptions options, std::unique_ptr<Impl> impl)
    : options_(std::move(options)), impl_(std::move(impl)) {}
Database::~Database() = default;

Result<std::unique_ptr<Database>> Database::open(DatabaseOptions options) {
  if (options.max_connections == 0)
    return fail(Code::kUsage, "a database needs one connection at least");
  auto impl = std::make_unique<Impl>();
  impl->location = TRY(parse_location(options.location));
  impl->rng = Rng(options.seed != 0 ? options.seed : random_seed());
  if (!options.pause) options.pause = sleep_ms;
  std::unique_ptr<Database> database(new Database(std::move(options), std::move(impl)));
  Impl& made = *database->impl_;
  const DatabaseOptions& kept = database->options_;
  const auto opener = [&made, &kept](Access access) {
    return [&made, &kept, access]() -> Result<std::unique_ptr<Driver>> {
      auto driver = TRY(open_driver(made.location, kept, access));
      driver->count_waits(&made.server_waits);
      return driver;
    };
  };
  made.readers = std::make_unique<Pool>(kept.max_connections, opener(Access::kRead));
  if (made.location.dialect == Dialect::kSqlite)
    made.writer = std::make_unique<Pool>(1, opener(Access::kWrite));
  // The writer first: it makes the file.
  TRY(database->acquire(Access::kWrite));
  return database;
}

Dialect Database::dialect() const {
  return impl_->location.dialect;
}
const std::string& Database::name() const {
  return impl_->location.name;
}

Result<Connection> Database::acquire(Access access) {
  auto connection = acquire_within(access, options_.pool_timeout_ms);
  if (!connection) return fail(all_in_use(std::move(connection).error()));
  return connection;
}

Result<Connection> Database::acquire_within(Access access, std::int64_t wait_ms) {
  Pool& pool = impl_->pool(access);
  return Connection(&pool, TRY_IN(name(), pool.acquire(wait_ms)));
}

Database::Stats Database::stats() const {
  Stats stats{impl_->readers->open(), impl_->readers->idle(), impl_->retries, impl_->server_waits};
  if (impl_->writer) {
    stats.open += impl_->writer->open();
    stats.idle += impl_->writer->idle();
  }
  return stats;
}

Result<> Database::attempt_transaction(const TransactionOptions& options,
                                       const std::function<Result<>(Transaction&)>& body) {
  const Clock& clock = options_.clock != nullptr ? *options_.clock : system_clock();
  const std::int64_t give_up_ms = clock.steady_ms() + options.give_up_after_ms;
  // SQLite's one writer is not a connection among others but the turn to write: a thread of this
  // process is waited for as another process would be, in one wait that keeps the place in the row.
  const auto wait_ms = [&]() -> std::int64_t {
    if (options.access == Access::kRead || !impl_->writer) return options_.pool_timeout_ms;
    return std::max<std::int64_t>(options_.pool_timeout_ms, give_up_ms - clock.steady_ms());
  };
  // One attempt; `trouble` says what the database made of it.
  const auto once = [&](Trouble& trouble) -> Result<> {
    auto connection = acquire_within(options.access, wait_ms());
    if (!connection) {
      const Error& error = connection.error();
      if (error.code == Code::kUnavailable && error.retryable) trouble = Trouble::kLost;
      return fail(all_in_use(std::move(connection).error()));
    }
    Driver& driver = *connection->owned_;
    const auto done = [&]() -> Result<> {
      Transaction transaction = TRY(connection->begin(options));
      TRY(body(transaction));
      if (!driver.in_transaction()) return {};  // body has ended it itself
      return transaction.commit();
    }();
    trouble = driver.trouble();
    return done;
  };

  for (int attempt = 1;; ++attempt) {
    Trouble trouble = Trouble::kNone;
    auto done = once(trouble);
    if (done) return done;
    if (trouble == Trouble::kLost || trouble == Trouble::kUnknownOutcome)
      impl_->pool(options.access).drop_idle();
    const bool again = trouble == Trouble::kTryAgain || trouble == Trouble::kLost ||
                       (trouble == Trouble::kUnknownOutcome && options.idempotent);
    if (!again) return done;
    const bool stopping = options_.stop != nullptr && options_.stop->is_requested();
    if (stopping || attempt >= options.max_attempts || clock.steady_ms() >= give_up_ms) {
      done.error().message += fmt::format(" (gave up after {} attempts)", attempt);
      return done;
    }
    impl_->retries.fetch_add(1, std::memory_order_relaxed);
    const std::int64_t pause_ms = impl_->pause_after(attempt);
    log::debug("transaction again",
               {{"attempt", attempt}, {"pause_ms", pause_ms}, {"why", done.error().message}});
    options_.pause(pause_ms);
  }
}

}  // namespace coffer::sql
