// The schema of a community (T11): on PostgreSQL a schema of the database with the name of the
// community, on SQLite a file of its own. docs/formats/token.md describes the tables.
#pragma once

#include <span>
#include <string_view>

#include "sql/migrations.h"

namespace coffer::token {

// Made by CMake from migrations/.
std::span<const sql::Migration> embedded_migrations();

// Brings a community up to date, in a transaction of its own; makes it if there is none. Errors:
// kUsage for a name that cannot be one (sql::is_schema_name); those of sql::migrate().
Result<> prepare_community(sql::Database& database, std::string_view name, sql::Schema schema);

}  // namespace coffer::token
