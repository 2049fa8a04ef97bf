// The SQL database of a module as the settings ask for it: where it is, and whose data it may hold.
// Whoever opens it takes both from here, so that all see the same.
#pragma once

#include <coffer/chain/network.h>
#include "config/config.h"
#include "node/module.h"
#include "sql/location.h"
#include "sql/stop_signal.h"

namespace coffer::node {

// For settings of engines: whether a text is a location, or empty, which asks for the default.
bool is_sql_location(std::string_view text);
inline constexpr const char* kSqlLocationForms =
    "sqlite:PATH, postgres://USER@HOST/NAME or \"host=… dbname=…\"";
// The database at this location; without one the file of this name in the data directory.
sql::DatabaseOptions sql_database_options(const config::Config& config, std::string_view location,
                                          std::string_view file_name, std::size_t max_connections);

// The settings with chain and network of what the data directory holds, if it holds something, as
// if they were given: who works on it later need not repeat them. Opens no database that a daemon
// may have. Errors: kConflict if the settings name others; kCorrupt.
Result<config::Config> stored_network_config(const config::Config& config);

// All of it together, for those who work on the database alone.
struct SqlDatabase {
  const Module* module = nullptr;
  config::Config config;  // with the stored network
  chain::Network network;
  sql::DatabaseOptions options;
  sql::MigrateOptions migrations;
  sql::LocationInfo where;

  const SqlStore& store() const { return *module->sql; }
  // Whether it is a file in the data directory, which may have to be made.
  bool is_in_data_dir() const;
};
// The directories of a database that is a file in the data directory. Errors: those of
// make_directory().
Result<> make_place(const SqlDatabase& database);
// The database of a module that has one. Opens no SQL database.
// Errors: kUnavailable if the settings have none, saying why; those of stored_network_config().
Result<SqlDatabase> find_sql_database(const config::Config& config, const Module& module);
// Those of all modules that have one with these settings.
Result<std::vector<SqlDatabase>> find_sql_databases(const config::Config& config);

// Before anything is made beside data that are there: that they are of the network of the settings.
// Errors: kConflict naming the next step; those of sql::Database::open but kNotFound.
Result<> check_sql_network(const config::Config& config, const Module& module,
                           const sql::StopSignal& stop);

// Of a database that holds data already: their network is taken over from it where the settings do
// not give one. Errors: kConflict if they give another.
// `may_reuse`: a database that holds nothing of its network counts as one of no network.
Result<> resolve_network(sql::Database& database, SqlDatabase& wanted, bool may_reuse = false);
// Whose data a backup may hold that is put into the place of this database: anybody's if there is
// none yet, the data directory follows no chain and the settings give no network; else those of the
// settings. Opens no SQL database. Errors: as above.
Result<> resolve_restore(SqlDatabase& wanted);

}  // namespace coffer::node
