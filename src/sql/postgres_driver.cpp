// Statements and transactions on one connection to PostgreSQL.
#include <poll.h>

#include <algorithm>
#include <charconv>

#include "base/result.h"
#include "sql/postgres_impl.h"

namespace coffer::sql {
namespace {

constexpr std::size_t kMaxPrepared = 256;

constexpr std::string_view kIsolation[] = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"};

}  // namespace

std::int64_t changed_rows(const PGresult* result) {
  auto* of = const_cast<PGresult*>(result);  // libpq only reads it
  const std::string_view command = PQcmdStatus(of);
  if (command.starts_with("SELECT") || command.starts_with("FETCH")) return 0;
  const std::string_view text = PQcmdTuples(of);
  std::int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

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
      formats_[i] = kBinaryRows;
    }
  }
}

Failure PostgresDriver::failure_of(const PGresult* result, std::string_view sql) const {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const bool gone = is_broken();
  // Without a state the error is libpq's own: mostly that nobody is there any more. PgBouncer calls
  // the loss of its server a protocol violation.
  if (gone && (state == nullptr || std::string_view(state) == "08P01")) state = "08006";
  if (state == nullptr) state = "";
  if (primary == nullptr)
    primary = unanswered_.empty() ? PQerrorMessage(connection_) : unanswered_.c_str();
  Failure failure = postgres_failure(state, primary, sql);
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

Result<PgResult> PostgresDriver::run_simple(std::string_view sql) {
  std::string text;
  for (const std::string& before : take_preamble()) text += before + "; ";
  text += sql;
  return run_text(text, sql);
}

Result<PgResult> PostgresDriver::run_text(const std::string& text, std::string_view sql) {
  return check(ask(text).release(), sql);
}

const std::string* PostgresDriver::find_prepared(const std::string& sql) const {
  const auto found = prepared_.find(sql);
  return found != prepared_.end() ? &found->second : nullptr;
}

void PostgresDriver::remember_prepared(const std::string& sql, const std::string& name) {
  prepared_.emplace(sql, name);
}

Result<> PostgresDriver::make_room_for_prepared(std::size_t more) {
  if (prepared_.empty() || prepared_.size() + more <= kMaxPrepared) return {};
  (void)TRY(run_text("DEALLOCATE ALL", "DEALLOCATE ALL"));
  prepared_.clear();
  return {};
}

Result<PgResult> PostgresDriver::run(std::string_view sql, const Params& params) {
  const std::string text(sql);
  const std::string* name = find_prepared(text);
  if (has_preamble() || (name == nullptr && !pooled_)) {
    const Statement one{sql, params};
    auto results = TRY(exchange({&one, 1}, Naming::kNamed, Ending::kOpen));
    return std::move(results.front());
  }
  arguments_.set(params);
  const int sent = pooled_ ? PQsendQueryParams(connection_, text.c_str(), arguments_.count(),
                                               nullptr, arguments_.values(), arguments_.lengths(),
                                               arguments_.formats(), kBinaryRows)
                           : PQsendQueryPrepared(connection_, name->c_str(), arguments_.count(),
                                                 arguments_.values(), arguments_.lengths(),
                                                 arguments_.formats(), kBinaryRows);
  return check(sent == 1 ? last_result().release() : nullptr, sql);
}

Result<std::unique_ptr<Cursor>> PostgresDriver::query(std::string_view sql, const Params& params) {
  // A time for a single statement behind a pooler needs a transaction around it.
  const bool wrapped = pooled_ && options_.clock != nullptr && !in_transaction();
  if (wrapped) begin_ = {"BEGIN"};
  auto result = run(sql, params);
  if (wrapped) {
    auto ended = run_simple(result ? "COMMIT" : "ROLLBACK");
    sent_time_ms_ = session_time_ms_;
    if (result && !ended) return fail(std::move(ended).error());
  }
  if (!result) return fail(std::move(result).error());
  return std::make_unique<PgCursor>(*std::move(result));
}

Result<std::int64_t> PostgresDriver::execute(std::string_view sql, const Params& params) {
  return changed_rows(TRY(run(sql, params)).get());
}

Result<> PostgresDriver::script(std::string_view sql) {
  TRY(run_simple(sql));
  return {};
}

std::vector<std::string> PostgresDriver::take_preamble() {
  std::vector<std::string> texts = std::exchange(begin_, {});
  if (!is_time_new()) return texts;
  // Settings of a session do not survive a pooler, and it would give them to others.
  const bool local = in_transaction() || pooled_;
  sent_time_ms_ = options_.clock->unix_ms();
  if (!local) session_time_ms_ = sent_time_ms_;
  texts.push_back(
      fmt::format("SET {} coffer.now_ms='{}'", local ? "LOCAL" : "SESSION", sent_time_ms_));
  return texts;
}

Result<> PostgresDriver::begin(const TransactionOptions& options) {
  const bool read = options.access == Access::kRead;
  const auto isolation = read && options.isolation == Isolation::kReadCommitted
                             ? Isolation::kRepeatableRead  // one moment
                             : options.isolation;
  begin_ = {fmt::format("BEGIN ISOLATION LEVEL {} {}",
                        kIsolation[static_cast<std::size_t>(isolation)],
                        read ? "READ ONLY" : "READ WRITE")};
  if (pooled_) {
    begin_.push_back(fmt::format("SET LOCAL lock_timeout={}", options_.lock_timeout_ms));
    begin_.push_back(fmt::format("SET LOCAL statement_timeout={}", options_.statement_timeout_ms));
    if (raise_durability_) begin_.emplace_back("SET LOCAL synchronous_commit=on");
  }
  sent_time_ms_ = session_time_ms_;  // what was set locally has ended with the transaction before
  return {};
}

Result<> PostgresDriver::commit() {
  sent_time_ms_ = session_time_ms_;
  if (!begin_.empty()) {  // the server has heard nothing of it
    begin_.clear();
    return {};
  }
  const PgResult result = ask("COMMIT");
  if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) {
    if (std::string_view(PQcmdStatus(result.get())) == "COMMIT") return {};
    return failed({make_error(Code::kInternal, "postgres: rolled back instead of committed")});
  }
  Failure failure = failure_of(result.get(), "COMMIT");
  if (is_broken() || failure.trouble == Trouble::kLost) {
    lost_ = true;
    return outcome_unknown(std::move(failure.error));
  }
  if (PQtransactionStatus(connection_) != PQTRANS_IDLE) rollback();
  return failed(std::move(failure));
}

std::unexpected<Error> PostgresDriver::outcome_unknown(Error error) {
  error.code = Code::kUnavailable;
  error.retryable = false;
  error.reason.clear();
  error.message += "; it is not known whether the change was committed";
  return failed({std::move(error), Trouble::kUnknownOutcome});
}

void PostgresDriver::rollback() {
  sent_time_ms_ = session_time_ms_;
  begin_.clear();
  if (lost_ || is_broken() || PQtransactionStatus(connection_) == PQTRANS_IDLE) return;
  run_briefly("ROLLBACK");
}

bool PostgresDriver::alive() {
  if (lost_ || is_broken() || PQtransactionStatus(connection_) != PQTRANS_IDLE) return false;
  // An idle connection has nothing to read, except when the server is about to close it. A new one
  // is cheaper than finding out what else it may be.
  pollfd socket{PQsocket(connection_), POLLIN, 0};
  return ::poll(&socket, 1, 0) == 0;
}

}  // namespace coffer::sql
