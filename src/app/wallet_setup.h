// The wallet's database as the settings ask for it.
#pragma once

#include "app/config.h"
#include "sql/database.h"

namespace coffer::app {

// Thread-safe; opens nothing. Errors: kUnavailable if there is no wallet, saying why.
Result<sql::DatabaseOptions> wallet_database(const Config& config);

// The settings with chain and network of what the data directory holds, if it holds something: who
// works on it later need not repeat them. Errors: kConflict if the settings name others; those of
// kv::Database::open.
Result<Config> settled_config(const Config& config);

}  // namespace coffer::app
