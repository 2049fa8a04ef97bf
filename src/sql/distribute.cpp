#include "sql/distribute.h"

#include <algorithm>

#include "base/check.h"
#include "base/result.h"
#include "sql/connection.h"
#include "sql/impl.h"

namespace coffer::sql {
namespace {

std::string_view checked(std::string_view name) {
  CHECK(!name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  }));
  return name;
}

Result<> expect_postgres(const Database& database) {
  if (database.dialect() == Dialect::kPostgres) return {};
  return fail(Code::kUsage, "{} is one file; only a PostgreSQL database can be distributed",
              database.name());
}

Result<bool> is_there(Reader& reader, std::string_view sql, Params params = {}) {
  const auto count = TRY(reader.value<std::int64_t>(sql, params));
  return count.value_or(0) > 0;
}

Result<bool> has_extension(Reader& reader) {
  return is_there(reader, "SELECT count(*) FROM pg_extension WHERE extname = 'citus'");
}

Result<> expect_extension(Reader& reader) {
  if (TRY(has_extension(reader))) return {};
  const bool available =
      TRY(is_there(reader, "SELECT count(*) FROM pg_available_extensions WHERE name = 'citus'"));
  if (available)
    return fail(Code::kUnavailable,
                "the extension citus is not in this database; a superuser adds it with CREATE "
                "EXTENSION citus");
  return fail(Code::kUnavailable,
              "the server does not have the extension citus; install Citus on every node, then "
              "CREATE EXTENSION citus in this database");
}

Result<bool> is_schema_distributed(Reader& reader, std::string_view schema) {
  return is_there(reader,
                  "SELECT count(*) FROM pg_dist_schema s JOIN pg_namespace n ON n.oid = "
                  "s.schemaid WHERE n.nspname = $1",
                  {schema});
}

// Tables without a tenant that refer to a reference table are in Citus's list too, as local ones:
// those are not distributed.
Result<bool> is_distributed(Reader& reader, std::string_view table) {
  return is_there(reader,
                  "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = to_regclass($1) "
                  "AND (partmethod = 'h' OR (partmethod = 'n' AND repmodel = 't'))",
                  {table});
}

std::vector<DistributeStep> all_steps(const Distribution& distribution) {
  std::vector<DistributeStep> steps;
  if (!distribution.schema.empty())
    return {{std::string(distribution.schema),
             fmt::format("SELECT citus_schema_distribute('{}')", checked(distribution.schema))}};
  for (const std::string_view table : distribution.reference)
    steps.push_back(
        {std::string(table), fmt::format("SELECT create_reference_table('{}')", checked(table))});
  std::string_view first = "none";  // a group of its own
  for (const TenantTable& tenant : distribution.tenant) {
    steps.push_back({std::string(tenant.table),
                     fmt::format("SELECT create_distributed_table('{}', '{}', colocate_with => "
                                 "'{}')",
                                 checked(tenant.table), checked(tenant.column), first)});
    if (first == "none") first = tenant.table;
  }
  return steps;
}

Result<bool> is_done(Reader& reader, const Distribution& distribution, const DistributeStep& step) {
  return distribution.schema.empty() ? is_distributed(reader, step.table)
                                     : is_schema_distributed(reader, step.table);
}

// One table or schema; whether there was anything to do.
Result<bool> distribute_one(Driver& driver, const Distribution& distribution,
                            const DistributeStep& step) {
  Transaction transaction = TRY(begin_on(driver, {}));
  TRY(lock_schema(transaction));
  if (TRY(is_done(transaction, distribution, step))) return false;
  for (const std::string_view setting : distribution.settings)
    TRY(transaction.script(fmt::format("SET LOCAL {} = on", checked(setting))));
  TRY(transaction.script(step.statement));
  TRY(transaction.commit());
  return true;
}

Result<> expect_tables(Reader& reader, const Distribution& distribution,
                       const std::vector<DistributeStep>& steps) {
  if (!distribution.schema.empty()) {
    if (TRY(is_there(reader, "SELECT count(*) FROM pg_namespace WHERE nspname = $1",
                     {distribution.schema})))
      return {};
    return fail(Code::kNotFound, "there is no schema {} yet", distribution.schema);
  }
  for (const DistributeStep& step : steps)
    if (!TRY(is_there(reader, "SELECT count(*) FROM pg_class WHERE oid = to_regclass($1)",
                      {step.table})))
      return fail(Code::kNotFound, "there is no table {} yet; 'coffer db migrate' makes it",
                  step.table);
  return {};
}

}  // namespace

Result<std::vector<DistributeStep>> plan_distribution(Database& database,
                                                      const Distribution& distribution) {
  TRY(expect_postgres(database));
  std::vector<DistributeStep> steps = all_steps(distribution);
  Connection connection = TRY(database.acquire());
  if (!TRY(has_extension(connection))) return steps;
  for (DistributeStep& step : steps)
    step.done_before = TRY(is_done(connection, distribution, step));
  return steps;
}

Result<std::vector<DistributeStep>> distribute(
    Database& database, const Distribution& distribution,
    const std::function<void(const DistributeStep&)>& done) {
  TRY(expect_postgres(database));
  std::vector<DistributeStep> steps = all_steps(distribution);
  {
    Connection connection = TRY(database.acquire());
    TRY(expect_extension(connection));
    TRY(expect_tables(connection, distribution, steps));
  }
  const auto driver = TRY(open_for_schema(database));
  for (DistributeStep& step : steps) {
    step.done_before = !TRY_IN(step.table, distribute_one(*driver, distribution, step));
    if (done) done(step);
  }
  return steps;
}

}  // namespace coffer::sql
