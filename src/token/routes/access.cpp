#include "token/routes/access.h"

#include <coffer/base/log.h>
#include "base/result.h"
#include "crypto/sha256.h"

namespace coffer::token {
namespace {

// A role or key that was taken away on another server is good so long at most.
constexpr std::int64_t kRememberMs = 2'000;
constexpr std::size_t kMaxRemembered = 10'000;
constexpr std::int64_t kSampleMs = 60'000;
constexpr int kMaxSampled = 5;  // in that time

constexpr std::string_view kKeyPrefix = "ctk_";

std::string_view bearer_of(const http::Request& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto header = request.header("Authorization");
  if (!header || header->size() < kScheme.size() ||
      !http::equal_ignoring_case(header->substr(0, kScheme.size()), kScheme))
    return {};
  return header->substr(kScheme.size());
}

// Of "COMMUNITY:ROLE".
std::optional<Role> role_in(std::string_view value, std::string_view community) {
  const std::size_t colon = value.rfind(':');
  if (colon == std::string_view::npos || value.substr(0, colon) != community) return std::nullopt;
  const auto role = parse_role(value.substr(colon + 1));
  return role ? std::optional(*role) : std::nullopt;
}

// An actor's name has at most 255 characters.
std::string actor_name(const std::string& subject) {
  constexpr std::size_t kMost = 200;
  return "subject:" +
         (subject.size() <= kMost ? subject : to_hex(crypto::sha256(as_bytes(subject)).view()));
}

// Nobody's credential stands in memory as it is.
std::string memory_key(std::string_view community, std::string_view credential) {
  return std::string(community) + ":" + to_hex(crypto::sha256(as_bytes(credential)).view());
}

}  // namespace

Access::Access(const Settings& settings, const Clock& clock)
    : settings_(settings),
      clock_(clock),
      identify_([](const http::Request&) { return std::nullopt; }),
      limiter_(settings.rate_limit, clock) {}

Access::~Access() {
  if (verifier_) verifier_->stop();
}

Result<std::unique_ptr<Access>> Access::open(const Settings& settings, const Clock& clock) {
  std::unique_ptr<Access> access(new Access(settings, clock));
  if (settings.oidc.issuer.empty()) return access;
  oidc::ProviderOptions options;
  options.issuer = settings.oidc.issuer;
  options.audience = settings.oidc.audience;
  options.algorithms = settings.oidc.algorithms;
  options.jwks_file = settings.oidc.jwks_file;
  options.ca_file = settings.oidc.ca_file;
  options.leeway_s = static_cast<std::int64_t>(settings.oidc.leeway_s);
  options.clock = &clock;
  access->verifier_ = TRY_IN("token.oidc", oidc::Verifier::open(options));
  return access;
}

Error Access::unauthorized() const {
  std::string who = "the token of the data directory or an API key of the community (ctk_…)";
  if (verifier_) who += fmt::format(", or a bearer token of {}", settings_.oidc.issuer);
  return make_error(Code::kUnauthorized,
                    "send the header 'Authorization: Bearer TOKEN' with " + who);
}

std::optional<Principal> Access::recall(const std::string& key) {
  std::lock_guard lock(mutex_);
  const auto found = known_.find(key);
  if (found == known_.end() || found->second.until_ms <= clock_.steady_ms()) return std::nullopt;
  return found->second.who;
}

void Access::remember(const std::string& key, const Principal& who) {
  std::lock_guard lock(mutex_);
  if (known_.size() >= kMaxRemembered) known_.clear();
  known_.insert_or_assign(key, Known{who, clock_.steady_ms() + kRememberMs});
}

void Access::forget() {
  std::lock_guard lock(mutex_);
  known_.clear();
}

Result<Principal> Access::identify(const http::Request& request, std::string_view community,
                                   Store* store) {
  const std::string_view bearer = bearer_of(request);
  if (bearer.empty()) return fail(unauthorized());
  if (const auto host = identify_(request)) {
    if (host->can_write) return Principal{.kind = Principal::Kind::kHost, .name = "host"};
    return Principal{.kind = Principal::Kind::kService,
                     .name = "host:" + host->name,
                     .scopes = {"read", "audit"}};
  }
  if (bearer.starts_with(kKeyPrefix)) return by_key(bearer, community, store);
  if (verifier_) return by_bearer(bearer, community, store);
  return fail(unauthorized());
}

Result<Principal> Access::by_key(std::string_view secret, std::string_view community,
                                 Store* store) {
  const std::string memory = memory_key(community, secret);
  if (auto known = recall(memory)) return *std::move(known);
  const auto key = store != nullptr ? TRY(store->use_api_key(secret)) : std::nullopt;
  if (!key)
    return fail(Code::kUnauthorized,
                "this API key is unknown in this community, expired or revoked");
  Principal who{.kind = Principal::Kind::kService, .name = "key:" + to_string(key->id)};
  who.scopes.insert(key->scopes.begin(), key->scopes.end());
  remember(memory, who);
  return who;
}

Result<Principal> Access::by_bearer(std::string_view text, std::string_view community,
                                    Store* store) {
  const oidc::Claims claims = TRY(verifier_->verify(text));
  const std::string memory = memory_key(community, text);
  if (auto known = recall(memory)) return *std::move(known);
  Principal who;
  const ExternalIdentity identity{claims.issuer, claims.subject};
  who.name = actor_name(claims.subject);
  for (const std::string& value : claims.strings(settings_.oidc.roles_claim))
    if (const auto role = role_in(value, community)) who.roles.insert(*role);
  if (store != nullptr) {
    for (const Role role : TRY(store->roles_of(identity))) who.roles.insert(role);
    if (const auto user = TRY(store->find_user_by_identity(identity))) {
      who.user = user->id;
      who.wallet = user->wallet;
      who.name = "user:" + to_string(user->id);
      who.roles.insert(Role::kMember);  // an operator linked the identity to a user
    }
  }
  remember(memory, who);
  return who;
}

Result<> Access::limit(const Principal& who) {
  if (who.kind == Principal::Kind::kHost) return {};
  const std::int64_t wait_ms = limiter_.take(who.name);
  if (wait_ms == 0) return {};
  Error error =
      make_error(Code::kUnavailable,
                 fmt::format("more than {} requests per second; wait {} ms (token.rate_limit)",
                             settings_.rate_limit.per_second, wait_ms));
  error.reason = "rate_limited";
  return fail(std::move(error));
}

void Access::note_refusal(const Error& error, const http::Request& request, std::string_view who) {
  const std::string_view kind =
      error.reason == "rate_limited" ? error.reason : std::string_view(info(error.code).name);
  if (metrics_ != nullptr)
    metrics_
        ->counter("coffer_token_refusals_total",
                  "Requests to the token ledger that were refused before they were judged",
                  {{"why", std::string(kind)}})
        .add();
  {
    std::lock_guard lock(mutex_);
    const std::int64_t now = clock_.steady_ms();
    if (sampled_ == 0 || now - sample_since_ms_ >= kSampleMs) {
      sample_since_ms_ = now;
      sampled_ = 0;
    }
    if (++sampled_ > kMaxSampled) return;
  }
  log::warn("request to the token ledger refused",
            {{"why", kind}, {"who", who}, {"remote", request.remote}, {"path", request.path}});
}

}  // namespace coffer::token
