// Copies of the whole database, by hard links where the file system allows it: offline by the
// command line, or by the daemon while it goes on.
#pragma once

#include <filesystem>

#include <coffer/kv/database.h>
#include "api/routes.h"

namespace coffer::node {

// Makes `directory`, which must not exist, a data directory with the state of this moment.
// Errors: kConflict if it exists, also because another snapshot is being made there; kUnavailable.
// After an error nothing of it is left, but parents that were missing. Thread-safe.
Result<> make_snapshot(kv::Database& db, const std::filesystem::path& directory);

inline constexpr std::string_view kSnapshotRoute = "/api/v1/snapshots";
// POST {"directory": "/absolute/path"}, on the server's own disk.
void add_snapshot_route(api::RouteTable& table, kv::Database& db);

}  // namespace coffer::node
