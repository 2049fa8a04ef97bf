// The one RocksDB database of a data directory: how it is opened, and what it says of itself.
#pragma once

#include <coffer/chainstate/identity.h>
#include "config/config.h"

namespace coffer::node {

// With the columns of all modules that the settings ask for; who only looks asks for whatever there
// may be. Errors: kUsage if the settings contradict each other.
Result<kv::DatabaseOptions> database_options(const config::Config& config, bool read_only);
// With the columns of the chain alone: makes none of a module.
kv::DatabaseOptions chain_database_options(const config::Config& config);

// Which chain the database is of; nothing if it is new. Somebody who only looks need not say what
// the database itself knows. Errors: kUnavailable while it is being made; kCorrupt.
Result<std::optional<chainstate::Identity>> stored_identity(const kv::Database& db);

// What the data directory says of itself; nothing if it holds nothing.
Result<std::optional<chainstate::Identity>> data_identity(const config::Config& config);

// What a first sync left that failed before its first block may be of another network: of such a
// database, empties the columns of the modules.
Result<> erase_unbound(kv::Database& db);

// Forgets what a consumer holds; the next start fills it again from the source.
// Errors: kNotFound naming the consumers there are, or where there is no data; kUnavailable while a
// process runs.
Result<> rebuild_consumer(const config::Config& config, std::string_view name);
// "totals, events or utxo".
std::string rebuildable_consumers();

}  // namespace coffer::node
