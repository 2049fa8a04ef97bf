#include "sql/inspect.h"
#include "base/result.h"
#include "sql/connection.h"

namespace coffer::sql {

Result<DatabaseFacts> inspect(Database& database) {
  Connection connection = TRY(database.acquire());
  DatabaseFacts facts;
  if (database.dialect() == Dialect::kSqlite) {
    const auto size = TRY(connection.value<std::int64_t>(
        "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"));
    facts.size_bytes = size.value_or(0);
    return facts;
  }
  const auto row = TRY((connection.one<std::int64_t, std::int64_t>(
      "SELECT pg_database_size(current_database()), "
      "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
      "AND backend_type = 'client backend' AND pid <> pg_backend_pid())")));
  if (row) std::tie(facts.size_bytes, facts.connections) = *row;
  return facts;
}

}  // namespace coffer::sql
