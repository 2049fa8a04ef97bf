// Keys of services. A secret is 32 random bytes and shown once; the table has its hash, by which it
// is found, so that neither a copy of the table nor the time of an answer tells a secret.
#include <fmt/ranges.h>

#include "base/random.h"
#include "crypto/base58.h"
#include "crypto/blake2b.h"
#include "token/account/accounts.h"
#include "token/query/page.h"

namespace coffer::token {
namespace {

constexpr std::string_view kSecretPrefix = "ctk_";
constexpr std::size_t kMaxSecretLength = 80;
constexpr std::size_t kMaxKeyName = 100, kMaxScopes = 64, kMaxScopesText = 1'000;
constexpr std::int64_t kMaxKeyMs = 10ll * 366 * 24 * 3600 * 1000;
constexpr std::int64_t kNoteUseAfterMs = 60'000;

Hash256 hash_secret(std::string_view secret) {
  return crypto::blake2b_256(as_bytes(secret));
}

// Sorted, each once. Errors: kInvalidInput.
Result<std::vector<std::string>> tidy_scopes(std::vector<std::string> scopes) {
  std::ranges::sort(scopes);
  const auto doubled = std::ranges::unique(scopes);
  scopes.erase(doubled.begin(), doubled.end());
  if (scopes.empty()) return fail(Code::kInvalidInput, "scopes: name at least one");
  std::size_t length = scopes.size() - 1;
  for (const std::string& scope : scopes) {
    length += scope.size();
    const bool good = !scope.empty() && std::ranges::all_of(scope, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == ':' ||
             c == '.';
    });
    if (!good)
      return fail(Code::kInvalidInput,
                  "scopes: use lower-case letters, digits, '_', '-', ':' and '.'");
  }
  if (scopes.size() > kMaxScopes || length > kMaxScopesText)
    return fail(Code::kInvalidInput, "scopes: at most {} of them with {} characters in all",
                kMaxScopes, kMaxScopesText);
  return scopes;
}

std::vector<std::string> split_scopes(std::string_view text) {
  std::vector<std::string> scopes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    scopes.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return scopes;
}

// Columns: id, name, scopes, created_by, created_at, expires_at, revoked_at, last_used_at.
Result<ApiKey> read_key(const Community& community, const sql::Rows& rows) {
  ApiKey key;
  key.id = TRY(community.read_id(rows, 0));
  key.name = TRY(rows.get<std::string>(1));
  key.scopes = split_scopes(TRY(rows.get<std::string>(2)));
  key.created_by = TRY(rows.get<std::string>(3));
  key.created_at_ms = TRY(rows.get<std::int64_t>(4));
  key.expires_at_ms = TRY(rows.get<std::int64_t>(5));
  key.revoked_at_ms = TRY(rows.get<std::optional<std::int64_t>>(6));
  key.last_used_at_ms = TRY(rows.get<std::optional<std::int64_t>>(7));
  return key;
}

Result<std::optional<ApiKey>> find_key(sql::Reader& sql, const Community& community,
                                       const Uuid& id) {
  sql::Rows rows =
      TRY(sql.query(community.sql("SELECT id, name, scopes, created_by, created_at, expires_at,"
                                  " revoked_at, last_used_at FROM @api_keys WHERE id = $1::uuid"),
                    {community.id(id)}));
  if (!TRY(rows.next())) return std::nullopt;
  return TRY(read_key(community, rows));
}

struct UsableKey {
  ApiKey key;
  std::int64_t now_ms = 0;
};

Result<std::optional<UsableKey>> find_usable_key(sql::Reader& sql, const Community& community,
                                                 const Hash256& hash) {
  sql::Rows rows = TRY(sql.query(
      community.sql("SELECT id, name, scopes, created_by, created_at, expires_at, revoked_at,"
                    " last_used_at, secret_hash, @now FROM @api_keys WHERE secret_hash = $1"),
      {hash}));
  if (!TRY(rows.next())) return std::nullopt;
  const auto stored = TRY(rows.get<Hash256>(8));
  if (!equal_constant_time(stored.view(), hash.view())) return std::nullopt;
  UsableKey found{TRY(read_key(community, rows)), TRY(rows.get<std::int64_t>(9))};
  if (found.key.revoked_at_ms || found.key.expires_at_ms <= found.now_ms) return std::nullopt;
  return found;
}

Result<> check_new_key(const NewApiKey& wanted, const Actor& actor) {
  TRY(check_text("name", wanted.name, 1, kMaxKeyName));
  TRY(check_actor(actor));
  if (wanted.duration_ms <= 0 || wanted.duration_ms > kMaxKeyMs)
    return fail(Code::kInvalidInput, "duration: {} ms; expected 1 ms to ten years",
                wanted.duration_ms);
  return {};
}

// Sets the key's times. An attempt whose end is unknown may have made it already.
Result<> insert_key(sql::Transaction& sql, const Community& community, const Actor& actor,
                    std::int64_t duration_ms, const Hash256& hash, ApiKey& key) {
  if (auto made = TRY(find_key(sql, community, key.id))) {
    key = *std::move(made);
    return {};
  }
  key.created_at_ms = TRY(database_now(sql, community));
  key.expires_at_ms = key.created_at_ms + duration_ms;
  const std::string scopes = fmt::format("{}", fmt::join(key.scopes, " "));
  (void)TRY(sql.execute(community.sql("INSERT INTO @api_keys (id, name, secret_hash, scopes,"
                                      " created_by, created_at, expires_at)"
                                      " VALUES ($1::uuid, $2, $3, $4, $5, $6, $7)"),
                        {community.id(key.id), key.name, hash, scopes, actor.name,
                         key.created_at_ms, key.expires_at_ms}));
  return write_audit(sql, community, actor, "make_api_key", to_string(key.id),
                     audit_detail({{"name", key.name}, {"scopes", scopes}}), key.created_at_ms);
}

}  // namespace

Result<MadeApiKey> Store::make_api_key(const NewApiKey& wanted, const Actor& actor) {
  TRY(check_new_key(wanted, actor));
  FixedBytes<32, struct SecretTag> random;
  fill_secure(random);
  const std::string secret = std::string(kSecretPrefix) + TRY(crypto::base58_encode(random.view()));
  const Community& community = impl_->community;
  ApiKey key;
  key.id = random_uuid();
  key.name = wanted.name;
  key.scopes = TRY(tidy_scopes(wanted.scopes));
  key.created_by = actor.name;
  TRY(write_as(community, actor, [&](sql::Transaction& sql) {
    return insert_key(sql, community, actor, wanted.duration_ms, hash_secret(secret), key);
  }));
  return MadeApiKey{std::move(key), secret};
}

Result<ApiKey> Store::revoke_api_key(const Uuid& key, const Actor& actor) {
  TRY(check_actor(actor));
  const Community& community = impl_->community;
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<ApiKey> {
    const std::int64_t now_ms = TRY(database_now(sql, community));
    const std::int64_t changed =
        TRY(sql.execute(community.sql("UPDATE @api_keys SET revoked_at ="
                                      " CASE WHEN created_at > $2 THEN created_at ELSE $2 END"
                                      " WHERE id = $1::uuid AND revoked_at IS NULL"),
                        {community.id(key), now_ms}));
    auto found = TRY(find_key(sql, community, key));
    if (!found)
      return std::unexpected(
          refusal("key_not_found",
                  fmt::format("there is no API key {} in '{}'; list them with 'coffer token key "
                              "list'",
                              to_string(key), community.name())));
    if (changed > 0)
      TRY(write_audit(sql, community, actor, "revoke_api_key", to_string(key),
                      audit_detail({{"name", found->name}}), now_ms));
    return *std::move(found);
  });
}

Result<Page<ApiKey>> Store::api_keys(const PageOptions& page) const {
  TRY(check_page(page));
  const Community& community = impl_->community;
  const CursorSeal seal("API keys");
  const Place start = TRY(seal.open(page.cursor)).value_or(Place{});
  const auto fetch = [&](sql::Transaction& sql, const Place& from,
                         std::size_t limit) -> Result<std::vector<ApiKey>> {
    sql::Rows rows =
        TRY(sql.query(community.sql("SELECT id, name, scopes, created_by, created_at, expires_at,"
                                    " revoked_at, last_used_at FROM @api_keys WHERE id >= $1::uuid"
                                    " ORDER BY id LIMIT $2"),
                      {community.id(from.id), limit}));
    std::vector<ApiKey> keys;
    while (TRY(rows.next())) keys.push_back(TRY(read_key(community, rows)));
    return keys;
  };
  return read_as_of_now(community, [&](sql::Transaction& sql) {
    return walk_page<ApiKey>(
        page.count, start, seal,
        [&](const Place& from, std::size_t limit) { return fetch(sql, from, limit); },
        [](const ApiKey& key) { return Place{.id = key.id}; });
  });
}

Result<std::optional<ApiKey>> Store::use_api_key(std::string_view secret) {
  if (!secret.starts_with(kSecretPrefix) || secret.size() > kMaxSecretLength) return std::nullopt;
  const Hash256 hash = hash_secret(secret);
  const Community& community = impl_->community;
  auto found = TRY(read_as_of_now(
      community, [&](sql::Transaction& sql) { return find_usable_key(sql, community, hash); }));
  if (!found) return std::nullopt;
  ApiKey& key = found->key;
  if (key.last_used_at_ms && found->now_ms - *key.last_used_at_ms < kNoteUseAfterMs &&
      found->now_ms >= *key.last_used_at_ms)
    return std::move(key);
  // The time of use is for people to read. That it cannot be noted is no reason to refuse.
  const auto noted = community.database().run_transaction(
      [&](sql::Transaction& sql) {
        return sql.execute(
            community.sql("UPDATE @api_keys SET last_used_at = $2 WHERE id = $1::uuid"),
            {community.id(key.id), found->now_ms});
      },
      {.max_attempts = 1, .give_up_after_ms = 1'000, .idempotent = true});
  if (noted) key.last_used_at_ms = found->now_ms;
  return std::move(key);
}

}  // namespace coffer::token
