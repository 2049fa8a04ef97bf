// The transaction store in SQLite or PostgreSQL. docs/formats/txstore.md describes the tables.
#pragma once

#include <memory>
#include <span>

#include "sql/migrations.h"
#include "txstore/backend.h"

namespace coffer::txstore {

// The migrations of module `txstore`, by dialect and version (generated from migrations/).
std::span<const sql::Migration> embedded_migrations();
// These migrations, and the network as the owner of the data (E5). Thread-safe.
sql::MigrateOptions migrations(const chain::Network& network);

// Empties all tables but what people did; the next start fills them again.
Result<> erase(sql::Database& database);

// The database must outlive it. Thread-safe, and safe beside other processes. Errors: kConflict for
// a database of another network, or a schema that `schema` does not allow to bring up to date.
Result<std::unique_ptr<Backend>> open_sql(sql::Database& db, const chain::Network& network,
                                          sql::Schema schema = sql::Schema::kMustBeCurrent);

}  // namespace coffer::txstore
