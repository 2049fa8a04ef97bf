// What the location of a database says, without connecting: for messages, and for the engine's own
// tools. Invariant: no secret gets out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sql/value.h"

namespace coffer::sql {

struct LocationInfo {
  Dialect dialect = Dialect::kSqlite;
  std::string name;            // without secrets
  std::filesystem::path path;  // SQLite
  // PostgreSQL: "--host=db --port=5433 --username=me --dbname=coffer", as pg_dump and its relatives
  // take it in a shell.
  std::string tool_flags;
};

// Thread-safe. Errors: kUsage for what is no location.
Result<LocationInfo> describe_location(std::string_view text);

}  // namespace coffer::sql
