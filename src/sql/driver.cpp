// What both engines' drivers share: the state of the current transaction.
#include <algorithm>

#include "base/check.h"
#include "base/result.h"
#include "sql/impl.h"

namespace coffer::sql {

Result<> Driver::ready() const {
  if (batch_open_) return fail(Code::kInternal, "a batch is open on this connection");
  if (in_transaction_ && trouble_ != Trouble::kNone) return fail(failure_);
  return {};
}

Result<> Driver::ready(std::string_view sql) const {
  TRY(ready());
  if (on_statement_) on_statement_(sql);
  return {};
}

Result<> Driver::begin_transaction(const TransactionOptions& options) {
  CHECK(!in_transaction_);
  trouble_ = Trouble::kNone;
  in_transaction_ = true;
  auto begun = begin(options);
  if (!begun) in_transaction_ = false;
  return begun;
}

Result<std::vector<std::unique_ptr<Cursor>>> Driver::run_statements(
    std::span<const Statement> statements, Ending ending) {
  auto can = [&]() -> Result<> {
    TRY(ready());
    if (statements.size() > kMaxStatements)
      return fail(Code::kInternal, "{} statements at once, more than {}", statements.size(),
                  kMaxStatements);
    for (const Statement& statement : statements) {
      TRY(ready(statement.sql));
      TRY(check(statement.params));
    }
    return {};
  }();
  if (ending == Ending::kOpen) {
    TRY(can);
    return run_all(statements, ending);
  }
  if (!can) {
    if (!batch_open_) rollback_transaction();
    return fail(std::move(can).error());
  }
  auto rows = run_all(statements, ending);
  if (!rows) rollback();
  in_transaction_ = false;
  return rows;
}

Result<> Driver::commit_transaction() {
  if (auto can = ready(); !can) {
    if (!batch_open_) rollback_transaction();
    return can;
  }
  auto committed = commit();
  in_transaction_ = false;
  return committed;
}

void Driver::rollback_transaction() {
  rollback();
  in_transaction_ = false;
}

std::unexpected<Error> Driver::failed(Failure failure) {
  if (trouble_ == Trouble::kNone) failure_ = failure.error;
  trouble_ = std::max(trouble_, failure.trouble);
  return fail(std::move(failure.error));
}

Result<std::unique_ptr<Driver>> open_driver(const Location& location,
                                            const DatabaseOptions& options, Access access) {
  auto driver = TRY(location.dialect == Dialect::kSqlite ? open_sqlite(location, options, access)
                                                         : open_postgres(location, options));
  driver->tell_statements(options.on_statement);
  return driver;
}

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, text.find('\n')));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return line;
}

std::string brief(std::string_view sql) {
  constexpr std::size_t kMost = 80;
  std::string text(sql.substr(0, kMost));
  std::replace(text.begin(), text.end(), '\n', ' ');
  return sql.size() > kMost ? text + "…" : text;
}

}  // namespace coffer::sql
