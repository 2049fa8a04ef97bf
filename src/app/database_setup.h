// The one database of a data directory: how it is opened, and what it says of itself.
#pragma once

#include "chainstate/identity.h"
#include "config/config.h"

namespace coffer::app {

// All columns that the settings ask for; who only looks asks for whatever there may be.
// Errors: kUsage if the settings contradict each other.
Result<kv::DatabaseOptions> database_options(const config::Config& config, bool read_only);

// Which chain the database is of; nothing if it is new. Somebody who only looks need not say what
// the database itself knows. Errors: kUnavailable while it is being made; kCorrupt.
Result<std::optional<chainstate::Identity>> stored_identity(const kv::Database& db);

// Forgets what a consumer holds; the next start fills it again from the source.
// Errors: kNotFound naming the consumers there are, or where there is no data; kUnavailable while a
// process runs.
Result<> rebuild_consumer(const config::Config& config, std::string_view name);

}  // namespace coffer::app
