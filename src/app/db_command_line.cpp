// The commands of the SQL databases on the command line.
#include "app/command_tree.h"
#include "app/db_commands.h"

namespace coffer::app {
namespace {

constexpr const char* kDbExamples =
    "Examples:\n"
    "  coffer db status                               where it is, whose data, which migrations\n"
    "  coffer db backup /backup/monday.db             a copy, also while a daemon runs (SQLite)\n"
    "  coffer db restore /backup/monday.db --replace  back to that copy; the old one is kept\n"
    "  coffer db migrate --wallet-database postgres://coffer@db/coffer\n"
    "  coffer db distribute --dry-run                 what Citus would be told (PostgreSQL)\n\n"
    "PostgreSQL is backed up and restored with its own tools. A password stands better in "
    "COFFER_WALLET_DATABASE,\ncoffer.toml or PGPASSFILE than on the command line.";

CLI::App* add_db_command(CLI::App& db, Parsed& parsed, const char* name, const char* help,
                         std::function<Result<>(const Context&)> action) {
  CLI::App* command = db.add_subcommand(name, help);
  add_settings(*command, parsed,
               {"data_dir", "chain", "network", "wallet.enabled", "wallet.database", "log."});
  command->callback([&parsed, action = std::move(action)] { parsed.action = action; });
  return command;
}

}  // namespace

void add_db_commands(CLI::App& app, Parsed& parsed) {
  CLI::App* db = app.add_subcommand("db", "The SQL databases: state, migrations, backups")
                     ->require_subcommand(1)
                     ->footer(kDbExamples);
  add_db_command(*db, parsed, "status",
                 "Show where each database is, whose data it holds, its migrations", run_db_status);
  add_db_command(*db, parsed, "migrate",
                 "Bring the tables up to date; the next start does it as well", run_db_migrate);
  static std::string copy;
  add_db_command(*db, parsed, "backup",
                 "Copy the database into a new file, also beside a daemon (SQLite)",
                 [](const Context& c) { return run_db_backup(c, copy); })
      ->add_option("file", copy, "where to; must not exist")
      ->required();
  static DbRestoreArguments restore;
  CLI::App* back = add_db_command(*db, parsed, "restore",
                                  "Put a backup into its place; coffer must be stopped (SQLite)",
                                  [](const Context& c) { return run_db_restore(c, restore); });
  back->add_option("file", restore.file, "what 'coffer db backup' made")->required();
  back->add_flag("--replace", restore.replace, "put a database that is there aside");
  static bool dry_run = false;
  add_db_command(*db, parsed, "distribute", "Spread the tables over a Citus cluster (PostgreSQL)",
                 [](const Context& c) { return run_db_distribute(c, dry_run); })
      ->add_flag("--dry-run", dry_run, "only print the statements");
}

}  // namespace coffer::app
