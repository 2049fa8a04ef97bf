// The commands of the SQL databases, as data.
#include "node/command.h"
#include "node/db_commands.h"

namespace coffer::node {
namespace {

constexpr const char* kDbExamples =
    "  coffer db status                               where it is, whose data, which migrations\n"
    "  coffer db backup /backup/monday.db             a copy, also while a daemon runs (SQLite)\n"
    "  coffer db restore /backup/monday.db --replace  back to that copy; the old one is kept\n"
    "  coffer db migrate --wallet-database postgres://coffer@db/coffer\n"
    "  coffer db distribute --dry-run                 what Citus would be told (PostgreSQL)\n";

constexpr const char* kDbNotes =
    "PostgreSQL is backed up and restored with its own tools. A password stands better in "
    "COFFER_WALLET_DATABASE,\ncoffer.toml or PGPASSFILE than on the command line.";

template <typename Arguments>
cli::Field<Arguments> module_field() {
  return {"--module",
          &Arguments::module,
          "Whose database, if several are in use: wallet, …",
          {.value = "NAME"}};
}

// With the settings that find each database.
cli::Command db_command(const char* name, const char* summary, const char* examples) {
  cli::Command command{.path = {"db", name},
                       .summary = summary,
                       .examples = examples,
                       .settings = {"data_dir", "chain", "network", "log."}};
  for (const Module* module : modules()) {
    if (!module->sql) continue;
    command.settings.push_back(std::string(module->name) + ".enabled");
    command.settings.emplace_back(module->sql->setting);
  }
  return command;
}

}  // namespace

std::vector<cli::Command> db_commands() {
  return {
      {.path = {"db"},
       .summary = "Look after the SQL databases: state, migrations, backups",
       .examples = kDbExamples,
       .notes = kDbNotes},
      command(
          db_command("status", "Show where each database is, whose data it holds, its migrations",
                     "  coffer db status --json\n"),
          run_db_status),
      command(db_command("migrate", "Bring the tables up to date; the next start does it as well",
                         "  coffer db migrate\n"),
              run_db_migrate),
      command<DbBackupArguments>(
          db_command("backup", "Copy the database into a new file, also beside a daemon (SQLite)",
                     "  coffer db backup /backup/monday.db\n"),
          {{"file", &DbBackupArguments::file, "Where to; must not exist"},
           module_field<DbBackupArguments>()},
          run_db_backup),
      command<DbRestoreArguments>(
          db_command("restore", "Put a backup into its place; coffer must be stopped (SQLite)",
                     "  coffer db restore /backup/monday.db --replace\n"),
          {{"file", &DbRestoreArguments::file, "What 'coffer db backup' made"},
           {"--replace", &DbRestoreArguments::replace,
            "Put a database that is there aside; it is kept"},
           module_field<DbRestoreArguments>()},
          run_db_restore),
      command<DbDistributeArguments>(
          db_command("distribute", "Spread the tables over a Citus cluster (PostgreSQL)",
                     "  coffer db distribute --dry-run\n"),
          {{"--dry-run", &DbDistributeArguments::dry_run, "Only print the statements"},
           module_field<DbDistributeArguments>()},
          run_db_distribute),
  };
}

}  // namespace coffer::node
