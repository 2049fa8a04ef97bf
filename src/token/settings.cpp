#include "token/settings.h"

#include <filesystem>

#include "base/result.h"
#include "sql/location.h"
#include "sql/migrations.h"

namespace coffer::token {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".sqlite";

bool is_server(std::string_view text) {
  if (text.empty()) return true;
  const auto where = sql::describe_location(text);
  return where && where->dialect == sql::Dialect::kPostgres;
}

#define SLOT(member) \
  [](config::Config& config) -> config::Slot { return &config.edit<Settings>().member; }

std::vector<config::Key> ledger_keys() {
  return {
      {.name = "token.enabled",
       .slot = SLOT(enabled),
       .help = "Serve the token ledger of communities over HTTP."},
      {.name = "token.database",
       .slot = SLOT(database),
       .help = "PostgreSQL database of the communities, a schema each; default: a file each, "
               "communities/NAME.sqlite in the data directory.",
       .accepts = is_server,
       .expects = "postgres://USER@HOST/NAME or \"host=… dbname=…\"",
       .secret = true},
      {.name = "token.community",
       .slot = SLOT(community),
       .help = "Community that the commands work on.",
       .accepts = sql::is_schema_name,
       .expects = "3 to 41 lower-case letters, digits and _, a letter first",
       .short_flag = "--community"},
      {.name = "token.communities",
       .slot = SLOT(communities),
       .help = "Communities that are served; default: all that there are."},
      {.name = "token.max_connections",
       .slot = SLOT(max_connections),
       .help = "Most connections to the database of the communities; on SQLite for each of them, "
               "and one more for writing.",
       .min = 2,
       .max = 256},
      {.name = "token.rate_limit.per_second",
       .slot = SLOT(rate_limit.per_second),
       .help = "Requests per second that each caller of the token ledger may make.",
       .min = 1,
       .max = 1'000'000},
      {.name = "token.rate_limit.burst",
       .slot = SLOT(rate_limit.burst),
       .help = "Requests that a caller may make at once after a pause.",
       .min = 1,
       .max = 1'000'000},
  };
}

std::vector<config::Key> oidc_keys() {
  return {
      {.name = "token.oidc.issuer",
       .slot = SLOT(oidc.issuer),
       .help = "OpenID Connect provider whose bearer tokens are accepted, as in their 'iss'."},
      {.name = "token.oidc.audience",
       .slot = SLOT(oidc.audience),
       .help = "Audience that bearer tokens must name."},
      {.name = "token.oidc.jwks_file",
       .slot = SLOT(oidc.jwks_file),
       .help = "File with the provider's key set; default: found through the issuer."},
      {.name = "token.oidc.ca_file",
       .slot = SLOT(oidc.ca_file),
       .help = "PEM file of the authorities that may certify the provider; default: the system's."},
      {.name = "token.oidc.algorithms",
       .slot = SLOT(oidc.algorithms),
       .help = "Signature algorithms that are accepted."},
      {.name = "token.oidc.roles_claim",
       .slot = SLOT(oidc.roles_claim),
       .help = "Claim with the roles of a bearer token, each as COMMUNITY:ROLE; within another "
               "claim as a JSON pointer."},
      {.name = "token.oidc.leeway_s",
       .slot = SLOT(oidc.leeway_s),
       .help = "Difference between our clock and the provider's that is tolerated, in seconds.",
       .max = 300},
  };
}

#undef SLOT

}  // namespace

std::span<const config::Key> settings() {
  static const std::vector<config::Key> all = [] {
    std::vector<config::Key> keys = ledger_keys();
    for (const config::Key& key : oidc_keys()) keys.push_back(key);
    return keys;
  }();
  return all;
}

Result<> check_settings(const config::Config& config) {
  const Settings& given = config.of<Settings>();
  if (given.oidc.issuer.empty() != given.oidc.audience.empty())
    return fail(Code::kUsage,
                "token.oidc.issuer and token.oidc.audience: give both, so that no token for "
                "another program is accepted here");
  if (!given.oidc.jwks_file.empty() && given.oidc.issuer.empty())
    return fail(Code::kUsage, "token.oidc.jwks_file: give token.oidc.issuer as well");
  for (const std::string& name : given.communities)
    if (!sql::is_schema_name(name))
      return fail(Code::kUsage,
                  "token.communities: '{}' cannot be a community; expected 3 to 41 lower-case "
                  "letters, digits and _, a letter first",
                  name);
  return {};
}

bool has_files(const config::Config& config) {
  return config.of<Settings>().database.empty();
}

std::string community_directory(const config::Config& config) {
  return (fs::path(config.data_dir) / "communities").string();
}

Result<sql::DatabaseOptions> database_options(const config::Config& config,
                                              std::string_view community) {
  const Settings& given = config.of<Settings>();
  if (!sql::is_schema_name(community))
    return fail(Code::kUsage,
                "'{}' cannot be the name of a community: use 3 to 41 lower-case letters, digits "
                "and _, a letter first",
                community);
  sql::DatabaseOptions options;
  options.location = given.database;
  if (has_files(config)) {
    const std::string file = std::string(community) + std::string(kSuffix);
    options.location = "sqlite:" + (fs::path(community_directory(config)) / file).string();
  }
  options.max_connections = given.max_connections;
  options.statement_timeout_ms = static_cast<int>(config.sql.statement_timeout_ms);
  return options;
}

Result<std::vector<std::string>> list_communities(sql::Database& database) {
  sql::Connection connection = TRY(database.acquire());
  sql::Rows rows =
      TRY(connection.query("SELECT n.nspname::text FROM pg_namespace n "
                           "WHERE EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = "
                           "n.oid AND c.relname = 'log_outbox') AND EXISTS (SELECT FROM "
                           "pg_class c WHERE c.relnamespace = n.oid AND c.relname = "
                           "'system_accounts') ORDER BY 1 LIMIT $1::bigint",
                           {kMaxCommunities}));
  std::vector<std::string> names;
  while (TRY(rows.next())) names.push_back(TRY(rows.get<std::string>(0)));
  return names;
}

Result<std::vector<std::string>> list_communities(const config::Config& config) {
  std::vector<std::string> names;
  if (!has_files(config)) {
    sql::DatabaseOptions options = TRY(database_options(config, kDefaultCommunity));
    const auto database = TRY(sql::Database::open(std::move(options)));
    return list_communities(*database);
  }
  std::error_code error;
  for (fs::directory_iterator at(community_directory(config), error), end; !error && at != end;
       at.increment(error)) {
    const fs::path& file = at->path();
    if (file.extension() == kSuffix && sql::is_schema_name(file.stem().string()) &&
        names.size() < kMaxCommunities)
      names.push_back(file.stem().string());
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return fail(Code::kUnavailable, "cannot read {}: {}", community_directory(config),
                error.message());
  std::ranges::sort(names);
  return names;
}

}  // namespace coffer::token
