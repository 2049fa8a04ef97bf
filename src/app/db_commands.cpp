#include "app/db_commands.h"

#include <cstdio>

#include "app/utxo_output.h"
#include "app/wallet_setup.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/table.h"
#include "json/writer.h"
#include "sql/inspect.h"
#include "wallet/distribution.h"

namespace coffer::app {
namespace {

// What is known of one database.
struct DatabaseReport {
  sql::LocationInfo where;
  chain::Network network;
  bool exists = false;
  std::optional<sql::MigrationStatus> status;
  std::optional<sql::DatabaseFacts> facts;
  std::optional<Error> problem;
};

DatabaseReport report_on(WalletDatabase wallet) {
  DatabaseReport report;
  report.where = wallet.where;
  const auto look = [&]() -> Result<> {
    sql::DatabaseOptions options = wallet.options;
    options.create_if_missing = false;
    const auto database = TRY(sql::Database::open(options));
    report.exists = true;
    report.facts = TRY(sql::inspect(*database));
    TRY(settle_network(*database, wallet));
    report.status = TRY_IN(database->name(), sql::migration_status(*database, wallet.migrations));
    return {};
  };
  auto looked = look();
  report.network = wallet.network;
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

std::string json_of(const DatabaseReport& report) {
  json::Writer out;
  out.begin_object().key("databases").begin_array().begin_object();
  out.field("module", "wallet").field("database", report.where.name);
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
  out.end_object().end_array().end_object();
  return out.take();
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
  table.add_row({"wallet", cli::printable(report.where.name)});
  table.add_row({"engine", std::string(sql::name_of(report.where.dialect))});
  if (report.facts) {
    table.add_row({"size", cli::human_bytes(static_cast<std::uint64_t>(report.facts->size_bytes))});
    if (const auto others = report.facts->connections)
      table.add_row({"open", fmt::format("{} connections besides this one", *others)});
  }
  if (report.status) add_status_rows(table, report);
  if (report.problem) table.add_row({"problem", cli::printable(report.problem->message)});
  if (!report.exists && !report.problem)
    table.add_row({"state", report.where.dialect == sql::Dialect::kSqlite
                                ? "not there yet; the first start or 'coffer db migrate' makes it"
                                : "not there yet; make it with createdb, then 'coffer db "
                                  "migrate' makes its tables"});
  return table.render();
}

}  // namespace

Result<> run_db_status(const Context& context) {
  const config::Config config = TRY(settled_config(context.config));
  if (!has_wallet(config)) {
    const auto reason = wallet_database(config).error().message;
    print_line(context.json ? R"({"databases":[]})" : "no database is in use; " + reason);
    return finish_output();
  }
  const DatabaseReport report = report_on(TRY(find_wallet_database(context.config)));
  if (context.json)
    print_line(json_of(report));
  else
    print(text_of(report));
  TRY(finish_output());
  if (report.problem) return fail(*report.problem);
  return {};
}

Result<> run_db_migrate(const Context& context) {
  WalletDatabase wallet = TRY(find_wallet_database(context.config));
  if (wallet.config.of<wallet::Settings>().database.empty())
    TRY(make_directory(wallet.config.data_dir, 0700));
  const auto database = TRY(sql::Database::open(wallet.options));
  TRY(settle_network(*database, wallet));
  const auto applied = TRY(sql::migrate(*database, wallet.migrations));
  if (context.json) {
    json::Writer out;
    out.begin_object().field("database", database->name());
    write_applied(out, applied);
    out.end_object();
    print_line(out.take());
  } else {
    for (const sql::Applied& one : applied)
      print_line(fmt::format("applied {} {} {}", one.module, one.version, one.name));
    print_line(fmt::format("{} is up to date", database->name()));
  }
  return finish_output();
}

namespace {

void print_step(const sql::DistributeStep& step) {
  print_line(fmt::format("{}: {}", step.table,
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
void print_statements(const std::vector<sql::DistributeStep>& steps) {
  std::size_t left = 0;
  for (const sql::DistributeStep& step : steps) {
    if (step.done_before) continue;
    ++left;
    std::string text = "BEGIN; ";
    for (const std::string_view setting : wallet::kDistribution.settings)
      text += fmt::format("SET LOCAL {} = on; ", setting);
    print_line(text + step.statement + "; COMMIT;");
  }
  if (left == 0) print_line("-- everything is distributed");
}

}  // namespace

Result<> run_db_distribute(const Context& context, bool dry_run) {
  const WalletDatabase wallet = TRY(find_wallet_database(context.config));
  if (wallet.where.dialect != sql::Dialect::kPostgres)
    return fail(Code::kUsage,
                "{} is one file; only a PostgreSQL database (wallet.database) can be distributed",
                wallet.where.name);
  const auto database = TRY(sql::Database::open(wallet.options));
  if (!context.json && !dry_run) {
    (void)TRY(sql::distribute(*database, wallet::kDistribution, print_step));
    return finish_output();
  }
  std::vector<sql::DistributeStep> steps;
  if (dry_run)
    steps = TRY(sql::plan_distribution(*database, wallet::kDistribution));
  else
    steps = TRY(sql::distribute(*database, wallet::kDistribution, {}));
  if (context.json)
    print_line(steps_json(*database, steps, dry_run));
  else
    print_statements(steps);
  return finish_output();
}

}  // namespace coffer::app
