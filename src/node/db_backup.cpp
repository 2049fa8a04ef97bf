// The commands that copy an SQL database away and back.
#include <cstdio>

#include <coffer/base/clock.h>
#include "base/file.h"
#include "base/file_lock.h"
#include "base/result.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "json/writer.h"
#include "node/db_commands.h"
#include "node/sql_store.h"
#include "sql/backup.h"
#include "sql/restore.h"

namespace coffer::node {
namespace {

namespace fs = std::filesystem;

std::uint64_t counted(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

// No other process has the stores of this data directory open, and none can open them meanwhile.
Result<std::optional<FileLock>> keep_daemons_out(const config::Config& config) {
  const fs::path lock = fs::path(config.data_dir) / "db" / "LOCK";
  if (!TRY(file_exists(lock))) return std::nullopt;
  return TRY_IN("coffer is running on this data directory; stop it first", FileLock::take(lock));
}

Result<> copy_away(const SqlDatabase& database, const fs::path& to) {
  sql::DatabaseOptions options = database.options;
  options.create_if_missing = false;
  const auto opened = TRY(sql::Database::open(options));
  cli::ProgressBar bar({.label = "copying", .unit = "pages", .total = {}}, system_clock(),
                       cli::stderr_output());
  TRY(sql::backup(*opened, to, [&](const sql::BackupProgress& now) {
    bar.set_total(counted(now.all_pages));
    bar.update(counted(now.done_pages));
    return true;
  }));
  bar.finish();
  return {};
}

Result<sql::Restored> copy_back(const SqlDatabase& database, const DbRestoreArguments& arguments) {
  cli::ProgressBar bar({.label = "copying", .unit = "bytes", .total = {}}, system_clock(),
                       cli::stderr_output());
  auto restored = TRY(sql::restore(database.options.location, arguments.file,
                                   {.expected = database.migrations, .replace = arguments.replace},
                                   [&](const sql::RestoreProgress& now) {
                                     bar.set_total(counted(now.all_bytes));
                                     bar.update(counted(now.done_bytes));
                                   }));
  bar.finish();
  return restored;
}

}  // namespace

Result<> run_db_backup(const Context& context, const DbBackupArguments& arguments) {
  const std::string& file = arguments.file;
  const SqlDatabase database = TRY(choose_database(context.config, arguments.module));
  if (database.where.dialect == sql::Dialect::kPostgres)
    return fail(Code::kUsage,
                "back up PostgreSQL with its own tools: pg_dump --format=custom --file={} {}", file,
                database.where.tool_flags);
  TRY(copy_away(database, file));
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(file, error);
  if (error) return fail(errno_error(error.value(), "cannot look at " + file));
  if (context.json) {
    json::Writer out;
    out.begin_object().field("database", database.where.name).field("file", file);
    out.field("size_bytes", bytes).end_object();
    cli::print_line(out.take());
  } else {
    cli::print_line(fmt::format("backup of {} in {}: {}, checked", database.where.name, file,
                                cli::human_bytes(bytes)));
  }
  return cli::finish_output();
}

Result<> run_db_restore(const Context& context, const DbRestoreArguments& arguments) {
  SqlDatabase database = TRY(choose_database(context.config, arguments.module));
  if (database.where.dialect == sql::Dialect::kPostgres)
    return fail(Code::kUsage,
                "restore PostgreSQL with its own tools: pg_restore --clean --if-exists "
                "--single-transaction {} {}",
                database.where.tool_flags, arguments.file);
  const auto alone = TRY(keep_daemons_out(database.config));
  TRY(resolve_restore(database));
  TRY(make_place(database));
  const sql::Restored restored = TRY(copy_back(database, arguments));
  if (context.json) {
    json::Writer out;
    out.begin_object().field("database", database.where.name).field("file", arguments.file);
    out.field("size_bytes", restored.size_bytes).key("kept");
    restored.kept.empty() ? out.null() : out.value(restored.kept.string());
    out.key("pending").begin_array();
    for (const std::string& one : restored.status.pending) out.value(one);
    out.end_array().end_object();
    cli::print_line(out.take());
    return cli::finish_output();
  }
  const auto& whose = restored.status.identity;  // of no network: a token ledger
  const std::string of_network =
      whose ? fmt::format(" of {} {}", whose->chain, whose->network) : "";
  cli::print_line(fmt::format("{} restored from {}: {}{}, {}", database.where.name, arguments.file,
                              database.store().content, of_network,
                              cli::human_bytes(counted(restored.size_bytes))));
  if (!restored.kept.empty())
    cli::print_line(fmt::format("the previous database is kept as {}", restored.kept.string()));
  if (!restored.status.pending.empty())
    cli::print_line(fmt::format("pending migrations: {}; the next start applies them",
                                restored.status.pending.size()));
  if (!whose) return cli::finish_output();
  cli::print_line(
      "next: start coffer; it catches up with the chain and compares unconfirmed transactions with "
      "the node's mempool");
  return cli::finish_output();
}

}  // namespace coffer::node
