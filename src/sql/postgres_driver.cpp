// Statements and transactions on one connection to PostgreSQL.
#include <poll.h>

#include <algorithm>
#include <charconv>

#include "base/result.h"
#include "sql/postgres_impl.h"

namespace coffer::sql {
namespace {

constexpr std::size_t kMaxPrepared = 256;
constexpr int kBinary = 1;

constexpr std::string_view kIsolation[] = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"};

std::int64_t changed_rows(const PgResult& result) {
  const std::string_view text = PQcmdTuples(result.get());
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

}  // namespace

void PgArguments::set(const Params& params) {
  count_ = static_cast<int>(params.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Param::Value& value = params[i].value();
    values_[i] = nullptr;
    lengths_[i] = 0;
    formats_[i] = 0;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      auto& digits = numbers_[i];
      *std::to_chars(digits.data(), digits.data() + digits.size() - 1, *integer).ptr = '\0';
      values_[i] = digits.data();
    } else if (const auto* truth = std::get_if<bool>(&value)) {
      values_[i] = *truth ? "t" : "f";
    } else if (!std::holds_alternative<std::monostate>(value)) {
      const auto* text = std::get_if<std::string_view>(&value);
      const ByteView data = text != nullptr ? as_bytes(*text) : std::get<ByteView>(value);
      values_[i] = data.empty() ? "" : reinterpret_cast<const char*>(data.data());
      lengths_[i] = static_cast<int>(data.size());
      formats_[i] = kBinary;
    }
  }
}

Failure PostgresDriver::failure_of(const PGresult* result, std::string_view sql) const {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const bool gone = PQstatus(connection_) != CONNECTION_OK;
  // Without a state the error is libpq's own: mostly that nobody is there any more. PgBouncer calls
  // the loss of its server a protocol violation.
  if (gone && (state == nullptr || std::string_view(state) == "08P01")) state = "08006";
  if (state == nullptr) state = "";
  Failure failure =
      postgres_failure(state, primary != nullptr ? primary : PQerrorMessage(connection_), sql);
  if (gone) failure.trouble = std::max(failure.trouble, Trouble::kLost);
  return failure;
}

Result<PgResult> PostgresDriver::check(PGresult* raw, std::string_view sql) {
  PgResult result(raw);
  const ExecStatusType status = PQresultStatus(raw);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_COPY_IN ||
      status == PGRES_PIPELINE_SYNC)
    return result;
  Failure failure = failure_of(raw, sql);
  if (failure.trouble == Trouble::kLost) lost_ = true;
  // A table was changed under a prepared statement. The state ("feature not supported") says less
  // than the place where the server noticed.
  const char* place = PQresultErrorField(raw, PG_DIAG_SOURCE_FUNCTION);
  if (place != nullptr && std::string_view(place) == "RevalidateCachedQuery") {
    lost_ = true;  // a new connection has no old plans
    failure.trouble = Trouble::kTryAgain;
    failure.error.code = Code::kUnavailable;
    failure.error.retryable = true;
  }
  return failed(std::move(failure));
}

Result<PgResult> PostgresDriver::run_simple(const std::string& sql) {
  return check(PQexec(connection_, sql.c_str()), sql);
}

Result<PgResult> PostgresDriver::run_unnamed(const std::string& sql, const Params& params) {
  arguments_.set(params);
  return check(
      PQexecParams(connection_, sql.c_str(), arguments_.count(), nullptr, arguments_.values(),
                   arguments_.lengths(), arguments_.formats(), kBinary),
      sql);
}

Result<std::string> PostgresDriver::prepare(const std::string& sql) {
  if (const auto found = prepared_.find(sql); found != prepared_.end()) return found->second;
  if (!pooled_ && prepared_.size() >= kMaxPrepared) {
    (void)TRY(run_simple("DEALLOCATE ALL"));
    prepared_.clear();
  }
  std::string name = pooled_ ? "" : fmt::format("coffer_{}", ++names_);
  TRY(check(PQprepare(connection_, name.c_str(), sql.c_str(), 0, nullptr), sql));
  if (!pooled_) prepared_.emplace(sql, name);
  return name;
}

Result<PgResult> PostgresDriver::run(std::string_view sql, const Params& params) {
  TRY(send_time());
  const std::string text(sql);
  if (pooled_) return run_unnamed(text, params);
  const std::string name = TRY(prepare(text));
  arguments_.set(params);
  return check(PQexecPrepared(connection_, name.c_str(), arguments_.count(), arguments_.values(),
                              arguments_.lengths(), arguments_.formats(), kBinary),
               sql);
}

Result<std::unique_ptr<Cursor>> PostgresDriver::query(std::string_view sql, const Params& params) {
  // A time for a single statement behind a pooler needs a transaction around it.
  const bool wrapped = pooled_ && options_.clock != nullptr && !in_transaction();
  if (wrapped) TRY(run_simple("BEGIN"));
  auto result = run(sql, params);
  if (wrapped) {
    sent_time_ms_ = session_time_ms_;
    auto ended = run_simple(result ? "COMMIT" : "ROLLBACK");
    if (result && !ended) return fail(std::move(ended).error());
  }
  if (!result) return fail(std::move(result).error());
  return std::make_unique<PgCursor>(*std::move(result));
}

Result<std::int64_t> PostgresDriver::execute(std::string_view sql, const Params& params) {
  return changed_rows(TRY(run(sql, params)));
}

Result<> PostgresDriver::script(std::string_view sql) {
  TRY(send_time());
  TRY(run_simple(std::string(sql)));
  return {};
}

Result<> PostgresDriver::send_time() {
  // Settings of a session do not survive a pooler, and it would give them to others.
  return send_time(in_transaction() || pooled_);
}

Result<> PostgresDriver::send_time(bool local) {
  if (options_.clock == nullptr) return {};
  const std::int64_t now_ms = options_.clock->unix_ms();
  if (now_ms == sent_time_ms_) return {};
  TRY(run_simple(fmt::format("SET {} coffer.now_ms='{}'", local ? "LOCAL" : "SESSION", now_ms)));
  sent_time_ms_ = now_ms;
  if (!local) session_time_ms_ = now_ms;
  return {};
}

Result<> PostgresDriver::begin(const TransactionOptions& options) {
  const bool read = options.access == Access::kRead;
  const auto isolation = read && options.isolation == Isolation::kReadCommitted
                             ? Isolation::kRepeatableRead  // one moment
                             : options.isolation;
  std::string sql =
      fmt::format("BEGIN ISOLATION LEVEL {} {}", kIsolation[static_cast<std::size_t>(isolation)],
                  read ? "READ ONLY" : "READ WRITE");
  if (pooled_) {
    sql += fmt::format("; SET LOCAL lock_timeout={}; SET LOCAL statement_timeout={}",
                       options_.lock_timeout_ms, options_.statement_timeout_ms);
    if (raise_durability_) sql += "; SET LOCAL synchronous_commit=on";
  }
  sent_time_ms_ = session_time_ms_;  // what was set locally has ended with the transaction before
  if (!pooled_) TRY(send_time(false));
  TRY(run_simple(sql));
  return {};
}

Result<> PostgresDriver::commit() {
  sent_time_ms_ = session_time_ms_;
  const PgResult result(PQexec(connection_, "COMMIT"));
  if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) {
    if (std::string_view(PQcmdStatus(result.get())) == "COMMIT") return {};
    return failed({make_error(Code::kInternal, "postgres: rolled back instead of committed")});
  }
  Failure failure = failure_of(result.get(), "COMMIT");
  if (PQstatus(connection_) != CONNECTION_OK || failure.trouble == Trouble::kLost) {
    lost_ = true;
    failure.trouble = Trouble::kUnknownOutcome;
    failure.error.code = Code::kUnavailable;
    failure.error.retryable = false;
    failure.error.message += "; it is not known whether the change was committed";
  } else if (PQtransactionStatus(connection_) != PQTRANS_IDLE) {
    rollback();
  }
  return failed(std::move(failure));
}

void PostgresDriver::rollback() {
  sent_time_ms_ = session_time_ms_;
  if (PQstatus(connection_) == CONNECTION_OK) PQclear(PQexec(connection_, "ROLLBACK"));
}

bool PostgresDriver::alive() {
  if (lost_ || PQstatus(connection_) != CONNECTION_OK ||
      PQtransactionStatus(connection_) != PQTRANS_IDLE)
    return false;
  // An idle connection has nothing to read, except when the server is about to close it. A new one
  // is cheaper than finding out what else it may be.
  pollfd socket{PQsocket(connection_), POLLIN, 0};
  return ::poll(&socket, 1, 0) == 0;
}

}  // namespace coffer::sql
