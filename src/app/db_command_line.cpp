// The commands of the SQL databases, as data.
#include "app/command_table.h"
#include "app/db_commands.h"

namespace coffer::app {
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

cli::Command db_command(const char* name, const char* summary, const char* examples) {
  return {
      .path = {"db", name},
      .summary = summary,
      .examples = examples,
      .settings = {"data_dir", "chain", "network", "wallet.enabled", "wallet.database", "log."}};
}

}  // namespace

std::vector<cli::Command> db_commands() {
  struct BackupArguments {
    std::string file;
  };
  struct DistributeArguments {
    bool dry_run = false;
  };
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
      command<BackupArguments>(
          db_command("backup", "Copy the database into a new file, also beside a daemon (SQLite)",
                     "  coffer db backup /backup/monday.db\n"),
          {{"file", &BackupArguments::file, "Where to; must not exist"}},
          [](const Context& c, const BackupArguments& a) { return run_db_backup(c, a.file); }),
      command<DbRestoreArguments>(
          db_command("restore", "Put a backup into its place; coffer must be stopped (SQLite)",
                     "  coffer db restore /backup/monday.db --replace\n"),
          {{"file", &DbRestoreArguments::file, "What 'coffer db backup' made"},
           {"--replace", &DbRestoreArguments::replace,
            "Put a database that is there aside; it is kept"}},
          run_db_restore),
      command<DistributeArguments>(
          db_command("distribute", "Spread the tables over a Citus cluster (PostgreSQL)",
                     "  coffer db distribute --dry-run\n"),
          {{"--dry-run", &DistributeArguments::dry_run, "Only print the statements"}},
          [](const Context& c, const DistributeArguments& a) {
            return run_db_distribute(c, a.dry_run);
          }),
  };
}

}  // namespace coffer::app
