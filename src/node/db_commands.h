// coffer db …: the SQL databases of the settings. Each prints its result on stdout and returns an
// error instead of printing it.
#pragma once

#include "node/command.h"
#include "node/sql_store.h"

namespace coffer::node {

// db_command_table.cpp: all of them as data.
std::vector<cli::Command> db_commands();

// The database of the module of this name, or if the name is empty the only one in use.
// Errors: kUsage if there are several; kUnavailable if there is none; those of find_sql_database().
Result<SqlDatabase> choose_database(const config::Config& config, const std::string& module);

// db_commands.cpp
// Changes nothing and makes nothing. Errors: those of the first database that cannot be used, after
// all were printed.
Result<> run_db_status(const Context& context);
Result<> run_db_migrate(const Context& context);
struct DbDistributeArguments {
  std::string module;
  bool dry_run = false;
};
// Errors: those of sql::distribute.
Result<> run_db_distribute(const Context& context, const DbDistributeArguments& arguments);

// db_backup.cpp
struct DbBackupArguments {
  std::string module, file;
};
// May run beside a daemon. Errors: kUsage on PostgreSQL, naming the command to type; those of
// sql::backup.
Result<> run_db_backup(const Context& context, const DbBackupArguments& arguments);
struct DbRestoreArguments {
  std::string module, file;
  bool replace = false;  // a database that is there is put aside
};
// Errors: kUnavailable while a daemon runs on the data directory; those of sql::restore.
Result<> run_db_restore(const Context& context, const DbRestoreArguments& arguments);

}  // namespace coffer::node
