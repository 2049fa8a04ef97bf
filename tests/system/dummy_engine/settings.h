// The settings of the dummy engine, dummy.*.
#pragma once

#include "config/keys.h"
#include "sql/connection.h"

namespace coffer::dummy {

struct Settings {
  bool enabled = true;
  std::string database;  // empty: dummy.db in the data directory
};

std::span<const config::Key> settings();
Result<sql::DatabaseOptions> database_options(const config::Config& config);

}  // namespace coffer::dummy
