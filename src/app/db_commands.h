// coffer db …: the SQL databases of the settings. Each prints its result on stdout and returns an
// error instead of printing it.
#pragma once

#include "app/command.h"

namespace coffer::app {

// db_command_line.cpp: all of them as data.
std::vector<cli::Command> db_commands();

// db_commands.cpp
// Changes nothing and makes nothing. Errors: those of the first database that cannot be used, after
// all were printed.
Result<> run_db_status(const Context& context);
Result<> run_db_migrate(const Context& context);
// Errors: those of sql::distribute.
Result<> run_db_distribute(const Context& context, bool dry_run);

// db_backup.cpp
// May run beside a daemon. Errors: kUsage on PostgreSQL, naming the command to type; those of
// sql::backup.
Result<> run_db_backup(const Context& context, const std::string& file);
struct DbRestoreArguments {
  std::string file;
  bool replace = false;  // a database that is there is put aside
};
// Errors: kUnavailable while a daemon runs on the data directory; those of sql::restore.
Result<> run_db_restore(const Context& context, const DbRestoreArguments& arguments);

}  // namespace coffer::app
