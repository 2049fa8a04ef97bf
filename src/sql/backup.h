// A copy of an SQLite database while it is in use. PostgreSQL has its own tools (pg_dump,
// pg_basebackup).
#pragma once

#include <filesystem>
#include <functional>

#include "sql/connection.h"

namespace coffer::sql {

struct BackupProgress {
  std::int64_t done_pages = 0, all_pages = 0;
};

// Writes the database as of one moment to `to`, which must not exist, checks the copy, and gives it
// its name only when it is whole and on the disk. Writers go on meanwhile. `progress` is called now
// and then; false stops. Thread-safe. Errors: kUsage on PostgreSQL, kConflict if `to` exists (also
// if it was made meanwhile: it is not overwritten), kNotFound without its directory, kCancelled,
// kCorrupt if the copy fails its check, kUnavailable.
Result<> backup(Database& database, const std::filesystem::path& to,
                const std::function<bool(const BackupProgress&)>& progress = {});

}  // namespace coffer::sql
