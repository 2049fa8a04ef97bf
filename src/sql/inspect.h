// How large a database is and who uses it, for an operator.
#pragma once

#include "sql/connection.h"

namespace coffer::sql {

struct DatabaseFacts {
  std::int64_t size_bytes = 0;  // on PostgreSQL of the whole database
  // Of all programs, without this one; nothing where the engine does not know.
  std::optional<std::int64_t> connections;
};

// Changes nothing. Thread-safe. Errors: those of statements.
Result<DatabaseFacts> inspect(Database& database);

}  // namespace coffer::sql
