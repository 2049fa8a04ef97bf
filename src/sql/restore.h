// Puts a backup of an SQLite database into its place. PostgreSQL has its own tools (pg_restore).
#pragma once

#include <filesystem>
#include <functional>

#include "sql/migrations.h"

namespace coffer::sql {

struct RestoreOptions {
  MigrateOptions expected;  // whose data it must hold, and how new they may be
  bool replace = false;     // a database that is there moves aside; otherwise it is in the way
};

struct RestoreProgress {
  std::int64_t done_bytes = 0, all_bytes = 0;
};

struct Restored {
  std::filesystem::path kept;  // where the replaced database is now; empty if there was none
  MigrationStatus status;      // of what is there now
  std::int64_t size_bytes = 0;
};

// Copies `from` beside the database of `location`, checks the copy, and gives it the name only when
// it is whole, on the disk, and nobody has the database open; the replaced one keeps its log. Who
// opens it at that moment waits and gets the new one. Not for a database that this process has
// open. `from` stays as it is. Errors: kUsage on PostgreSQL
// and if `from` is the database or a file that is written here; kNotFound; kInvalidInput for a file
// that is no such database, kCorrupt for a damaged one; kConflict if it belongs to another network,
// is newer than this program, is not a closed file, or if there is a database and `replace` is
// false; kUnavailable while somebody uses the database. After an error the database is what it was.
Result<Restored> restore(std::string_view location, const std::filesystem::path& from,
                         const RestoreOptions& options,
                         const std::function<void(const RestoreProgress&)>& progress = {});

}  // namespace coffer::sql
