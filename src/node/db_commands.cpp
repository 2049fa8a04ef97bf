#include "node/db_commands.h"

#include <cstdio>

#include <coffer/base/clock.h>
#include "base/file.h"
#include "base/result.h"
#include "cli/output.h"
#include "cli/table.h"
#include "json/writer.h"
#include "node/sql_store.h"
#include "sql/inspect.h"

namespace coffer::node {
namespace {

// What is known of one database.
struct DatabaseReport {
  std::string module;
  sql::LocationInfo where;
  chain::Network network;
  bool exists = false;
  std::optional<sql::MigrationStatus> status;
  std::optional<sql::DatabaseFacts> facts;
  std::optional<Error> problem;
};

DatabaseReport report_on(SqlDatabase wanted) {
  DatabaseReport report;
  report.module = wanted.module->name;
  report.where = wanted.where;
  const auto look = [&]() -> Result<> {
    sql::DatabaseOptions options = wanted.options;
    options.create_if_missing = false;
    const auto database = TRY(sql::Database::open(options));
    report.exists = true;
    report.facts = TRY(sql::inspect(*database));
    TRY(resolve_network(*database, wanted));
    report.status = TRY_IN(database->name(), sql::migration_status(*database, wanted.migrations));
    return {};
  };
  auto looked = look();
  report.network = wanted.network;
  // What is not there yet is no problem.
  if (!looked && (report.exists || looked.error().code != Code::kNotFound))
    report.problem = std::move(looked).error();
  return report;
}

void write_applied(json::Writer& out, const std::vector<sql::Applied>& applied) {
  out.key("applied").begin_array();
  for (const sql::Applied& one : applied) {
    out.begin_object().field("module", one.module).field("version", one.version);
    out.field("name", one.name).field("applied_at_ms", one.at_ms).end_object();
  }
  out.end_array();
}

void write_identity(json::Writer& out, const DatabaseReport& report) {
  out.key("identity");
  if (!report.status || !report.status->identity) {
    out.null();
    return;
  }
  const sql::Identity& identity = *report.status->identity;
  out.begin_object().field("chain", identity.chain).field("network", identity.network);
  out.field("genesis", chain::display(report.network.family, identity.genesis));
  out.field("format", identity.format).end_object();
}

void write_report(json::Writer& out, const DatabaseReport& report) {
  out.begin_object().field("module", report.module).field("database", report.where.name);
  out.field("engine", sql::name_of(report.where.dialect)).field("exists", report.exists);
  write_identity(out, report);
  const sql::MigrationStatus status = report.status.value_or(sql::MigrationStatus{});
  write_applied(out, status.applied);
  out.key("pending").begin_array();
  for (const std::string& one : status.pending) out.value(one);
  out.end_array();
  const auto number = [&](std::string_view key, std::optional<std::int64_t> value) {
    value ? out.field(key, *value) : out.key(key).null();
  };
  const sql::DatabaseFacts facts = report.facts.value_or(sql::DatabaseFacts{});
  number("size_bytes", report.facts ? std::optional(facts.size_bytes) : std::nullopt);
  number("connections", facts.connections);
  report.problem ? out.field("problem", report.problem->message) : out.key("problem").null();
  out.end_object();
}

void add_status_rows(cli::Table& table, const DatabaseReport& report) {
  const sql::MigrationStatus& status = *report.status;
  if (const auto& identity = status.identity)
    table.add_row(
        {"identity", fmt::format("{} {}, genesis {}", identity->chain, identity->network,
                                 chain::display(report.network.family, identity->genesis))});
  const std::int64_t now_ms = system_clock().unix_ms();
  for (const sql::Applied& one : status.applied) {
    const auto age_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_ms - one.at_ms));
    table.add_row({"applied", fmt::format("{} {} {}, {} ago", one.module, one.version, one.name,
                                          cli::human_duration_ms(age_ms))});
  }
  for (const std::string& one : status.pending) table.add_row({"pending", one});
  if (status.pending.empty()) table.add_row({"pending", "nothing"});
}

std::string text_of(const DatabaseReport& report) {
  cli::Table table({{""}, {""}});
  table.add_row({report.module, cli::printable(report.where.name)});
  table.add_row({"engine", std::string(sql::name_of(report.where.dialect))});
  if (report.facts) {
    table.add_row({"size", cli::human_bytes(static_cast<std::uint64_t>(report.facts->size_bytes))});
    if (const auto others = report.facts->connections)
      table.add_row({"open", fmt::format("{} connections besides this one", *others)});
  }
  if (report.status) add_status_rows(table, report);
  if (report.problem) table.add_row({"problem", cli::printable(report.problem->message)});
  if (!report.exists && !report.problem)
    table.add_row(
        {"state", report.where.dialect == sql::Dialect::kSqlite
                      ? "does not exist yet; the first start or 'coffer db migrate' creates it"
                      : "does not exist yet; create it with createdb, then its tables "
                        "with 'coffer db migrate'"});
  return table.render();
}

// Of every module that could have one.
Result<std::string> why_no_database(const config::Config& config) {
  const config::Config stored = TRY(stored_network_config(config));
  std::string reasons;
  for (const Module* module : modules()) {
    if (!module->sql) continue;
    if (const auto none = module->sql->database(stored); !none)
      reasons += (reasons.empty() ? "" : "; ") + none.error().message;
  }
  return reasons.empty() ? "no module uses an SQL database" : reasons;
}

}  // namespace

Result<SqlDatabase> choose_database(const config::Config& config, const std::string& module) {
  if (!module.empty()) {
    const Module* named = find_module(module);
    if (named == nullptr || !named->sql)
      return fail(Code::kUsage, "--module: no module '{}' with an SQL database", module);
    return find_sql_database(config, *named);
  }
  std::vector<SqlDatabase> databases = TRY(find_sql_databases(config));
  if (databases.empty()) return fail(Code::kNotFound, "{}", TRY(why_no_database(config)));
  if (databases.size() == 1) return std::move(databases.front());
  std::vector<std::string_view> names;
  names.reserve(databases.size());
  for (const SqlDatabase& one : databases) names.push_back(one.module->name);
  return fail(Code::kUsage, "several databases are in use; choose one with --module: {}",
              fmt::join(names, ", "));
}

Result<> run_db_status(const Context& context) {
  const std::vector<SqlDatabase> databases = TRY(find_sql_databases(context.config));
  if (databases.empty()) {
    const std::string reason = TRY(why_no_database(context.config));
    cli::print_line(context.json ? R"({"databases":[]})" : "no database is in use; " + reason);
    return cli::finish_output();
  }
  std::vector<DatabaseReport> reports;
  reports.reserve(databases.size());
  for (const SqlDatabase& one : databases) reports.push_back(report_on(one));
  if (context.json) {
    json::Writer out;
    out.begin_object().key("databases").begin_array();
    for (const DatabaseReport& report : reports) write_report(out, report);
    out.end_array().end_object();
    cli::print_line(out.take());
  } else {
    for (const DatabaseReport& report : reports) cli::print(text_of(report));
  }
  TRY(cli::finish_output());
  for (const DatabaseReport& report : reports)
    if (report.problem) return fail(*report.problem);
  return {};
}

namespace {

struct MigratedDatabase {
  std::string name;
  std::vector<sql::Applied> applied;
};

Result<MigratedDatabase> migrate_one(SqlDatabase wanted) {
  TRY(make_place(wanted));
  const auto database = TRY(sql::Database::open(wanted.options));
  TRY(resolve_network(*database, wanted));
  return MigratedDatabase{database->name(), TRY(sql::migrate(*database, wanted.migrations))};
}

}  // namespace

Result<> run_db_migrate(const Context& context) {
  const std::vector<SqlDatabase> databases = TRY(find_sql_databases(context.config));
  if (databases.empty()) return fail(Code::kNotFound, "{}", TRY(why_no_database(context.config)));
  for (const SqlDatabase& one : databases) {
    const MigratedDatabase done = TRY(migrate_one(one));
    if (context.json) {
      json::Writer out;
      out.begin_object().field("database", done.name);
      write_applied(out, done.applied);
      out.end_object();
      cli::print_line(out.take());
      continue;
    }
    for (const sql::Applied& migration : done.applied)
      cli::print_line(
          fmt::format("applied {} {} {}", migration.module, migration.version, migration.name));
    cli::print_line(fmt::format("{} is up to date", done.name));
  }
  return cli::finish_output();
}

namespace {

void print_step(const sql::DistributeStep& step) {
  cli::print_line(fmt::format("{}: {}", step.table,
                              step.done_before ? "was distributed before" : "distributed"));
  std::fflush(stdout);  // the next may take long
}

std::string steps_json(const sql::Database& database, std::span<const sql::DistributeStep> steps,
                       bool dry_run) {
  json::Writer out;
  out.begin_object().field("database", database.name()).field("dry_run", dry_run);
  out.key("tables").begin_array();
  for (const sql::DistributeStep& step : steps) {
    out.begin_object().field("table", step.table).field("statement", step.statement);
    out.field("done_before", step.done_before).end_object();
  }
  out.end_array().end_object();
  return out.take();
}

// For psql: what distribute() would do.
void print_statements(const sql::Distribution& how, const std::vector<sql::DistributeStep>& steps) {
  std::size_t left = 0;
  for (const sql::DistributeStep& step : steps) {
    if (step.done_before) continue;
    ++left;
    std::string text = "BEGIN; ";
    for (const std::string_view setting : how.settings)
      text += fmt::format("SET LOCAL {} = on; ", setting);
    cli::print_line(text + step.statement + "; COMMIT;");
  }
  if (left == 0) cli::print_line("-- everything is distributed");
}

}  // namespace

Result<> run_db_distribute(const Context& context, const DbDistributeArguments& arguments) {
  const SqlDatabase wanted = TRY(choose_database(context.config, arguments.module));
  if (wanted.where.dialect != sql::Dialect::kPostgres)
    return fail(Code::kUsage, "{} is one file; only a PostgreSQL database ({}) can be distributed",
                wanted.where.name, wanted.store().setting);
  if (wanted.store().distribution == nullptr)
    return fail(Code::kUsage, "the tables of {} cannot be distributed", wanted.module->name);
  sql::Distribution how = *wanted.store().distribution;
  how.schema = wanted.migrations.schema;
  const auto database = TRY(sql::Database::open(wanted.options));
  if (!context.json && !arguments.dry_run) {
    (void)TRY(sql::distribute(*database, how, print_step));
    return cli::finish_output();
  }
  std::vector<sql::DistributeStep> steps;
  if (arguments.dry_run)
    steps = TRY(sql::plan_distribution(*database, how));
  else
    steps = TRY(sql::distribute(*database, how, {}));
  if (context.json)
    cli::print_line(steps_json(*database, steps, arguments.dry_run));
  else
    print_statements(how, steps);
  return cli::finish_output();
}

}  // namespace coffer::node
