// The settings of the token ledger, token.*, and where its communities are.
#pragma once

#include <span>

#include <coffer/token/store.h>
#include "config/keys.h"
#include "sql/connection.h"

namespace coffer::token {

inline constexpr std::string_view kDefaultCommunity = "communitytoken";

struct OidcSettings {
  std::string issuer;     // empty: bearer tokens of a provider are refused
  std::string audience;   // that tokens must be for
  std::string jwks_file;  // empty: by discovery at the issuer
  std::string ca_file;    // for discovery; empty takes the system's
  std::vector<std::string> algorithms = {"RS256", "ES256"};
  std::string roles_claim = "coffer_roles";
  std::uint64_t leeway_s = 30;
};

struct RateLimit {
  std::uint64_t per_second = 200;
  std::uint64_t burst = 400;
};

struct Settings {
  bool enabled = false;
  bool demo = false;     // of `coffer demo`, not a setting: the community lives by itself
  std::string database;  // of PostgreSQL; empty: a file for each community in DATA/communities
  std::string community = std::string(kDefaultCommunity);
  std::vector<std::string> communities;  // that are served; empty: all there are
  std::uint64_t max_connections = 8;
  OidcSettings oidc;
  RateLimit rate_limit;
};

std::span<const config::Key> settings();
// Errors: kUsage for settings that contradict each other, naming them.
Result<> check_settings(const config::Config& config);

// Whether every community is a file of its own (SQLite).
bool has_files(const config::Config& config);
// The directory of those files (not "token": that is the file of the host's token).
std::string community_directory(const config::Config& config);
// The database that has this community. Opens nothing. Errors: kUsage for a name that cannot be
// one.
Result<sql::DatabaseOptions> database_options(const config::Config& config,
                                              std::string_view community);
// The names of the communities that there are, in order; at most kMaxCommunities.
// Errors: those of sql::Database::open, but none if nothing is there yet.
inline constexpr std::size_t kMaxCommunities = 10'000;
Result<std::vector<std::string>> list_communities(const config::Config& config);
// The same on a database of PostgreSQL that is open.
Result<std::vector<std::string>> list_communities(sql::Database& database);

}  // namespace coffer::token
