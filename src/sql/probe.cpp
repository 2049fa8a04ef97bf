#include "sql/probe.h"

#include "base/result.h"
#include "sql/connection.h"

namespace coffer::sql {
namespace {

constexpr int kProbeMs = 2'000;

}  // namespace

Probe::Probe(DatabaseOptions options) : options_(std::move(options)) {
  options_.max_connections = 1;
  options_.create_if_missing = false;
  options_.connect_timeout_s = kProbeMs / 1'000;
  options_.statement_timeout_ms = options_.lock_timeout_ms = kProbeMs;
}

Probe::~Probe() = default;

Result<> Probe::ask() {
  if (!database_) database_ = TRY(Database::open(options_));
  const auto answer = [&]() -> Result<> {
    Connection connection = TRY(database_->acquire());
    // On SQLite this reads the file.
    (void)TRY(connection.value<std::int64_t>(connection.dialect() == Dialect::kSqlite
                                                 ? "SELECT count(*) FROM sqlite_schema"
                                                 : "SELECT 1::bigint"));
    return {};
  }();
  if (!answer || database_->dialect() == Dialect::kSqlite) database_.reset();
  return answer;
}

}  // namespace coffer::sql
