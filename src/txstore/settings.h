// The settings of the transaction store, txstore.*.
#pragma once

#include <span>

#include <coffer/sql/database.h>
#include <coffer/txstore/types.h>
#include "config/keys.h"

namespace coffer::txstore {

struct Settings {
  bool enabled = false;
  std::string backend = "rocksdb";
  std::string start = "origin";
  std::string database;  // of the SQL backends; empty: txstore.db in the data directory
  std::uint64_t max_connections = 4;
  std::uint64_t block_height_retention = 288;
  std::uint64_t unmined_retention = 2'016;
  std::uint64_t cleanup_budget = 20'000;
};

std::span<const config::Key> settings();

// Errors: kUsage if they contradict each other.
Result<> check_settings(const config::Config& config);
// Opens nothing. Errors: kUnavailable if it is off or has no SQL database.
Result<sql::DatabaseOptions> database_options(const config::Config& config);
Options options_of(const config::Config& config, const chain::Network& network);

}  // namespace coffer::txstore
