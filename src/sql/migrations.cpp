#include "sql/migrations.h"

#include <algorithm>
#include <map>

#include <coffer/base/log.h>
#include "base/result.h"
#include "sql/impl.h"

namespace coffer::sql {
namespace {

constexpr int kWaitForOthersMs = 10 * 60 * 1000;
// Any number that nobody else uses: "coffer" in ASCII.
constexpr std::int64_t kLock = 0x636f66666572;

struct Record {
  Applied applied;
  std::string checksum;
};
using Records = std::map<std::pair<std::string, int>, Record>;

// In a transaction: names without a schema mean those of this one, and nothing else's.
Result<> enter_schema(Transaction& transaction, const MigrateOptions& options) {
  if (options.schema.empty() || transaction.dialect() != Dialect::kPostgres) return {};
  if (!is_schema_name(options.schema))
    return fail(Code::kUsage, "'{}' cannot be the name of a schema", options.schema);
  return transaction.script(fmt::format("SET LOCAL search_path = \"{}\", pg_temp", options.schema));
}

std::string text_of(const Migration& migration, const MigrateOptions& options) {
  constexpr std::string_view kPlace = "@schema@";
  std::string text(migration.text);
  if (options.schema.empty() || migration.dialect != Dialect::kPostgres) return text;
  for (auto at = text.find(kPlace); at != std::string::npos; at = text.find(kPlace, at))
    text.replace(at, kPlace.size(), options.schema);
  return text;
}

bool is_wanted(const MigrateOptions& options, std::string_view module) {
  return module == "core" ||
         std::ranges::find(options.known, module, &Migration::module) != options.known.end();
}

Result<bool> has_table(Reader& session, std::string_view name) {
  const std::string_view sql =
      session.dialect() == Dialect::kSqlite
          ? "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = $1"
          : "SELECT count(*) FROM pg_class WHERE oid = to_regclass($1)";
  return TRY(session.value<std::int64_t>(sql, {name})).value_or(0) > 0;
}

Result<Records> read_records(Reader& session) {
  Records records;
  if (!TRY(has_table(session, "coffer_migrations"))) return records;
  Rows rows = TRY(session.query(
      "SELECT module, version, name, checksum, applied_at_ms FROM coffer_migrations"));
  while (TRY(rows.next())) {
    Record record{{TRY(rows.get<std::string>(0)), TRY(rows.get<int>(1)),
                   TRY(rows.get<std::string>(2)), TRY(rows.get<std::int64_t>(4))},
                  TRY(rows.get<std::string>(3))};
    const auto key = std::pair(record.applied.module, record.applied.version);
    records.emplace(key, std::move(record));
  }
  return records;
}

Result<std::optional<Identity>> read_identity(Reader& session) {
  if (!TRY(has_table(session, "coffer_identity"))) return std::nullopt;
  auto row = TRY((session.one<std::string, std::string, Hash256, std::int64_t>(
      "SELECT chain, network, genesis, format FROM coffer_identity")));
  if (!row) return std::nullopt;
  return std::make_from_tuple<Identity>(std::move(*row));
}

// Whether the identity binds: see MigrateOptions::in_use.
Result<bool> is_in_use(Reader& session, const MigrateOptions& options,
                       const std::vector<const Migration*>& pending) {
  if (options.in_use.empty() || !pending.empty()) return true;
  return TRY(session.value<std::int64_t>(options.in_use)).value_or(0) > 0;
}

Result<> check_identity(const std::optional<Identity>& found, const MigrateOptions& options) {
  if (!found || !options.identity || *found == *options.identity) return {};
  const auto text = [](const Identity& identity) {
    return fmt::format("{} {} (format {})", identity.chain, identity.network, identity.format);
  };
  if (found->chain == options.identity->chain && found->network == options.identity->network &&
      found->format == options.identity->format)
    return fail(Code::kConflict,
                "the database belongs to another {} {}, with another first block; choose another "
                "database",
                found->chain, found->network);
  return fail(Code::kConflict, "the database belongs to {}, not to {}; choose another database",
              text(*found), text(*options.identity));
}

// What is left to apply, after a look at what is there.
Result<std::vector<const Migration*>> plan(const Records& records, const MigrateOptions& options,
                                           Dialect dialect) {
  std::vector<const Migration*> known;  // core first, so that the others can build on it
  for (const std::span<const Migration> list : {core_migrations(), options.known})
    for (const Migration& migration : list)
      if (migration.dialect == dialect) known.push_back(&migration);
  std::vector<const Migration*> pending;
  std::map<std::string, int, std::less<>> newest;
  for (const Migration* one : known) {
    const Migration& migration = *one;
    int& version = newest[std::string(migration.module)];
    if (migration.version != version + 1)
      return fail(Code::kInternal, "migration {} {} follows {}", migration.module,
                  migration.version, version);
    version = migration.version;
    const auto found = records.find({std::string(migration.module), migration.version});
    if (found == records.end()) {
      pending.push_back(one);
    } else if (found->second.checksum != migration.checksum) {
      return fail(Code::kConflict,
                  "migration {} {} ({}) was applied with another text ({}… then, {}… now); use the "
                  "program that made this database, or a release",
                  migration.module, migration.version, migration.name,
                  found->second.checksum.substr(0, 12), migration.checksum.substr(0, 12));
    }
  }
  for (const auto& [key, record] : records) {
    const auto& [module, version] = key;
    if (!is_wanted(options, module) || version <= newest[module]) continue;
    return fail(Code::kConflict,
                "the database has version {} of {} and this program knows {}; use a newer coffer",
                version, module, newest[module]);
  }
  return pending;
}

Result<MigrationStatus> look(Database& database, const MigrateOptions& options,
                             const TransactionOptions& reading) {
  return database.run_transaction(
      [&](Transaction& transaction) -> Result<MigrationStatus> {
        TRY(enter_schema(transaction, options));
        MigrationStatus status;
        status.identity = TRY(read_identity(transaction));
        auto same = check_identity(status.identity, options);
        const bool may_be_given = !options.in_use.empty();
        if (!same && !may_be_given) return fail(std::move(same).error());
        const Records records = TRY(read_records(transaction));
        const auto pending = TRY(plan(records, options, transaction.dialect()));
        status.is_in_use = TRY(is_in_use(transaction, options, pending));
        if (!same && status.is_in_use) return fail(std::move(same).error());
        for (const Migration* migration : pending)
          status.pending.push_back(
              fmt::format("{} {} {}", migration->module, migration->version, migration->name));
        for (const auto& [key, record] : records) status.applied.push_back(record.applied);
        return status;
      },
      reading);
}

Result<> create_table(Transaction& transaction) {
  const bool sqlite = transaction.dialect() == Dialect::kSqlite;
  const std::string_view integer = sqlite ? "INTEGER" : "BIGINT";
  return transaction.script(fmt::format(
      "CREATE TABLE IF NOT EXISTS coffer_migrations (module TEXT NOT NULL, version {0} NOT NULL, "
      "name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at_ms {0} NOT NULL, "
      "PRIMARY KEY (module, version)){1}",
      integer, sqlite ? " STRICT" : ""));
}

Result<Applied> apply(Transaction& transaction, const Migration& migration,
                      const MigrateOptions& options) {
  const std::string what =
      fmt::format("migration {} {} ({})", migration.module, migration.version, migration.name);
  TRY_IN(what, transaction.script(text_of(migration, options)));
  const std::int64_t now_ms = TRY(transaction.value<std::int64_t>("SELECT coffer_now()")).value();
  (void)TRY_IN(
      what, transaction.execute(
                "INSERT INTO coffer_migrations VALUES ($1, $2, $3, $4, $5)",
                {migration.module, migration.version, migration.name, migration.checksum, now_ms}));
  return Applied{std::string(migration.module), migration.version, std::string(migration.name),
                 now_ms};
}

Result<> write_identity(Transaction& transaction, const Identity& identity) {
  (void)TRY(
      transaction.execute("INSERT INTO coffer_identity(only_row, chain, network, genesis, format) "
                          "VALUES (1, $1, $2, $3, $4)",
                          {identity.chain, identity.network, identity.genesis, identity.format}));
  return {};
}

// Rebuilding a table breaks references for a moment; at the end they must be whole.
Result<> check_references(Transaction& transaction) {
  if (transaction.dialect() != Dialect::kSqlite) return {};
  Rows broken = TRY(transaction.query("PRAGMA foreign_key_check"));
  if (!TRY(broken.next())) return {};
  return fail(Code::kInternal, "after the migrations a row of {} refers to nothing",
              TRY(broken.get<std::string>(0)));
}

Result<std::vector<Applied>> migrate_in(Transaction& transaction, const MigrateOptions& options) {
  TRY(lock_schema(transaction));
  TRY(enter_schema(transaction, options));
  auto identity = TRY(read_identity(transaction));
  const auto same = check_identity(identity, options);
  if (!same && options.in_use.empty()) return fail(same.error());
  const Records records = TRY(read_records(transaction));
  const auto pending = TRY(plan(records, options, transaction.dialect()));
  if (!same) {
    if (TRY(is_in_use(transaction, options, pending))) return fail(same.error());
    (void)TRY(transaction.execute("DELETE FROM coffer_identity"));
    identity.reset();
  }
  std::vector<Applied> applied;
  applied.reserve(pending.size());
  if (!pending.empty() && !options.schema.empty() && transaction.dialect() == Dialect::kPostgres)
    TRY(transaction.script(fmt::format("CREATE SCHEMA IF NOT EXISTS \"{}\"", options.schema)));
  if (!pending.empty()) TRY(create_table(transaction));
  for (const Migration* migration : pending)
    applied.push_back(TRY(apply(transaction, *migration, options)));
  if (!identity && options.identity) TRY(write_identity(transaction, *options.identity));
  if (!pending.empty()) TRY(check_references(transaction));
  return applied;
}

}  // namespace

bool is_schema_name(std::string_view name) {
  constexpr std::size_t kShortest = 3, kLongest = 41;
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  if (name.size() < kShortest || name.size() > kLongest || !is_letter(name.front())) return false;
  for (const char c : name)
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '_') return false;
  return !name.starts_with("pg_") && name != "public" && name != "information_schema";
}

Result<std::unique_ptr<Driver>> open_for_schema(const Database& database) {
  DatabaseOptions patient = database.options();
  patient.lock_timeout_ms = kWaitForOthersMs;
  patient.statement_timeout_ms = 0;
  const Location location = TRY(parse_location(patient.location));
  return TRY_IN(location.name, open_driver(location, patient, Access::kWrite));
}

Result<> lock_schema(Transaction& transaction) {
  if (transaction.dialect() == Dialect::kPostgres)
    (void)TRY(transaction.query("SELECT pg_advisory_xact_lock($1)", {kLock}));
  return {};
}

Result<std::vector<Applied>> migrate(Database& database, const MigrateOptions& options) {
  // Mostly there is nothing to do, and then nobody should wait for a writer. If a change of the
  // schema is in the way of the look itself, that change is waited for below.
  auto status = look(database, options, {.access = Access::kRead, .max_attempts = 1});
  if (!status && !status.error().retryable)
    return fail(std::move(status).error().in(database.name()));
  const bool bound = status && (!options.identity || status->identity == options.identity);
  if (bound && status->pending.empty()) return std::vector<Applied>();
  const auto driver = TRY(open_for_schema(database));
  if (driver->dialect() == Dialect::kSqlite) TRY(driver->script("PRAGMA foreign_keys=OFF"));
  Transaction transaction = TRY(begin_on(*driver, {}));
  auto applied = TRY_IN(database.name(), migrate_in(transaction, options));
  TRY_IN(database.name(), transaction.commit());
  for (const Applied& one : applied)
    log::info("migrated", {{"module", one.module}, {"version", one.version}, {"name", one.name}});
  return applied;
}

Result<std::vector<Applied>> prepare_schema(Database& database, const MigrateOptions& options,
                                            Schema schema) {
  if (schema == Schema::kMigrate) return migrate(database, options);
  const MigrationStatus status = TRY_IN(database.name(), migration_status(database, options));
  std::map<std::string, int, std::less<>> found;
  for (const Applied& one : status.applied) {
    int& version = found[one.module];
    version = std::max(version, one.version);
  }
  // The module before core: its version is the one that a user knows.
  for (const std::span<const Migration> list : {options.known, core_migrations()}) {
    std::map<std::string_view, int> needed;
    for (const Migration& one : list)
      if (one.dialect == database.dialect())
        needed[one.module] = std::max(needed[one.module], one.version);
    for (const auto& [module, version] : needed) {
      const auto known = found.find(module);
      const int has = known == found.end() ? 0 : known->second;
      if (has >= version || (has == 0 && schema == Schema::kCreateIfMissing)) continue;
      return fail(Code::kConflict,
                  "{} is of schema {}, this coffer needs {}: run 'coffer db migrate'",
                  database.name(), has, version);
    }
  }
  return migrate(database, options);
}

Result<MigrationStatus> migration_status(Database& database, const MigrateOptions& options) {
  return look(database, options, {.access = Access::kRead});
}

}  // namespace coffer::sql
