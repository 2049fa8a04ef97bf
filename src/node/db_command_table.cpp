// The commands of the SQL databases, as data.
#include "node/command.h"
#include "node/db_commands.h"

namespace coffer::node {
namespace {

constexpr const char* kDbExamples =
    "  coffer db status                               show location, identity and migrations\n"
    "  coffer db backup /backup/monday.db             copy it, also while a daemon runs (SQLite)\n"
    "  coffer db restore /backup/monday.db --replace  put the copy back; the old one is kept\n"
    "  coffer db migrate --wallet-database postgres://coffer@db/coffer\n"
    "  coffer db distribute --dry-run                 print the statements for Citus "
    "(PostgreSQL)\n";

constexpr const char* kDbNotes =
    "Use PostgreSQL's own tools to back up and restore it. Put a password into "
    "COFFER_WALLET_DATABASE,\ncoffer.toml or PGPASSFILE: other users can see the command line.";

template <typename Arguments>
cli::Field<Arguments> module_field() {
  return {"--module",
          &Arguments::module,
          "Module whose database is meant, if several are in use: wallet, …",
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
    command.settings.push_back(std::string(module->name) + ".backend");  // if it has a choice
    command.settings.emplace_back(module->sql->setting);
    command.settings.push_back(std::string(module->name) + ".community");  // likewise
  }
  return command;
}

}  // namespace

std::vector<cli::Command> db_commands() {
  return {
      {.path = {"db"},
       .summary = "Manage the SQL databases: status, migrations, backups",
       .examples = kDbExamples,
       .notes = kDbNotes},
      command(db_command("status", "Show where each database is, its network and its migrations",
                         "  coffer db status --json\n"),
              run_db_status),
      command(db_command("migrate", "Apply pending migrations now; otherwise the next start does",
                         "  coffer db migrate\n"),
              run_db_migrate),
      command<DbBackupArguments>(
          db_command("backup",
                     "Copy the database into a new file, also while a daemon runs (SQLite)",
                     "  coffer db backup /backup/monday.db\n"),
          {{"file", &DbBackupArguments::file, "File to write; must not exist"},
           module_field<DbBackupArguments>()},
          run_db_backup),
      command<DbRestoreArguments>(
          db_command("restore", "Replace the database with a backup; stop coffer first (SQLite)",
                     "  coffer db restore /backup/monday.db --replace\n"),
          {{"file", &DbRestoreArguments::file, "File that 'coffer db backup' wrote"},
           {"--replace", &DbRestoreArguments::replace,
            "Replace an existing database; it is kept under another name"},
           module_field<DbRestoreArguments>()},
          run_db_restore),
      command<DbDistributeArguments>(
          db_command("distribute", "Distribute the tables over a Citus cluster (PostgreSQL)",
                     "  coffer db distribute --dry-run\n"),
          {{"--dry-run", &DbDistributeArguments::dry_run,
            "Print the statements without running them"},
           module_field<DbDistributeArguments>()},
          run_db_distribute),
  };
}

}  // namespace coffer::node
