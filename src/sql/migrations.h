// Versioned changes of the schema, compiled in from migrations/DIALECT/NNNN_name.sql of each
// module. Invariant: what is applied is recorded with its checksum in coffer_migrations, in the
// transaction that applied it; two programs that start at once apply it once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sql/connection.h"

namespace coffer::sql {

struct Migration {
  std::string_view module;
  Dialect dialect;
  int version;  // from 1, without gaps in a module
  std::string_view name;
  std::string_view checksum;  // SHA-256 of the text in hex
  std::string_view text;
};

// The migrations of module `core`, by dialect and version. They are a part of every database: all
// functions here apply or expect them without being told.
std::span<const Migration> core_migrations();

// Whose data a database holds (E5).
struct Identity {
  std::string chain, network;
  Hash256 genesis;
  std::int64_t format = 1;
  friend bool operator==(const Identity&, const Identity&) = default;
};

struct MigrateOptions {
  // The migrations of the modules that the database is for, besides core: each module by dialect
  // and version.
  std::span<const Migration> known;
  std::optional<Identity> identity = {};  // written into a new database, compared with an old one
  // A query that answers with a number above zero once the database holds something of its network.
  // Until then it may be given to another network. Empty: it is bound as soon as it has an
  // identity.
  std::string_view in_use = {};
  // PostgreSQL: the schema that has it all, tables of core included; made if it is missing. In the
  // text of a migration @schema@ stands for it. Empty: the schema that the connection has. See
  // is_schema_name().
  std::string schema = {};
};

// What may be called so: [a-z][a-z0-9_]{2,40}, but not pg_…, which belongs to the server, and not
// public, which other modules use.
bool is_schema_name(std::string_view name);

struct Applied {
  std::string module;
  int version = 0;
  std::string name;
  std::int64_t at_ms = 0;
};

// Brings the database up to date, in one transaction under a lock, and returns what it applied; if
// there is nothing to do it only reads, and waits for no writer. The identity is compared before
// anything else. Thread-safe, and safe beside other processes. Errors:
// kConflict if the database belongs to another network, is newer than this program, or an applied
// migration has another text now; those of statements. After an error nothing has changed.
Result<std::vector<Applied>> migrate(Database& database, const MigrateOptions& options);

// Calls migrate() if `schema` allows what that would apply. Errors: those of migrate(); kConflict
// with both versions and the way out if `schema` does not allow it.
Result<std::vector<Applied>> prepare_schema(Database& database, const MigrateOptions& options,
                                            Schema schema);

struct MigrationStatus {
  std::vector<Applied> applied;      // in order of module and version
  std::vector<std::string> pending;  // "wallet 3 leases"
  std::optional<Identity> identity;
  bool is_in_use = true;  // as of MigrateOptions::in_use: false if the identity binds nothing yet
};

// Changes nothing. Errors: as of migrate().
Result<MigrationStatus> migration_status(Database& database, const MigrateOptions& options);

}  // namespace coffer::sql
