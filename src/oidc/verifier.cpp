#include "oidc/verifier.h"

#include "base/check.h"
#include "base/file.h"
#include "oidc/jwt.h"

namespace coffer::oidc {
namespace {

constexpr std::size_t kMaxNameBytes = 1024;
constexpr std::int64_t kFileRefreshMs = 1'000;
constexpr std::int64_t kMaxFileIntervalMs = 10'000;
constexpr std::int64_t kMaxIntervalMs = 60'000;
constexpr std::int64_t kWaitGraceMs =
    200;  // for what comes after a fetch that ends at its deadline

Result<> check_range(std::string_view name, std::int64_t value, std::int64_t min,
                     std::int64_t max) {
  if (value >= min && value <= max) return {};
  return fail(Code::kUsage, "{} is {}, not within {} to {}", name, value, min, max);
}

Result<> check_name(std::string_view name, const std::string& value) {
  if (!value.empty() && value.size() <= kMaxNameBytes) return {};
  return fail(Code::kUsage, "the {} must be given, with at most {} bytes", name, kMaxNameBytes);
}

Result<> check_options(const ProviderOptions& options) {
  TRY(check_name("issuer", options.issuer));
  TRY(check_name("audience", options.audience));
  TRY(check_range("the leeway of the clocks in seconds", options.leeway_s, 0, kMaxLeewayS));
  TRY(check_range("the timeout of a fetch in milliseconds", options.fetch_timeout_ms, 100, 30'000));
  TRY(check_range("the refresh of keys in seconds", options.refresh_s, 1, 86'400));
  TRY(check_range("the shortest time between refreshes in seconds", options.min_refresh_s, 1,
                  options.refresh_s));
  return check_range("the longest age of keys in seconds", options.max_age_s, options.refresh_s,
                     std::int64_t{30} * 86'400);
}

RefreshPolicy policy_of(const ProviderOptions& options) {
  RefreshPolicy policy;
  policy.max_age_ms = options.max_age_s * 1000;
  policy.wait_ms = options.fetch_timeout_ms + kWaitGraceMs;
  if (options.jwks_file.empty()) {
    policy.refresh_ms = options.refresh_s * 1000;
    policy.min_interval_ms = options.min_refresh_s * 1000;
    policy.max_interval_ms = kMaxIntervalMs;
  } else {
    policy.refresh_ms = policy.min_interval_ms = kFileRefreshMs;
    policy.max_interval_ms = kMaxFileIntervalMs;
  }
  return policy;
}

// Errors: as Verifier::open().
Result<> check_key_file(const std::filesystem::path& file, const Algorithms& algorithms) {
  const Bytes text = TRY(read_file(file, kMaxKeySetBytes));
  const KeySet keys = TRY_IN(file.string(), KeySet::parse(as_text(text), algorithms));
  if (keys.size() == 0)
    return fail(Code::kInvalidInput, "{} has no key that can be used with {}", file.string(),
                names_of(algorithms));
  return {};
}

}  // namespace

Verifier::Verifier(ExpectedClaims expected, Algorithms algorithms, const Clock& clock,
                   std::unique_ptr<KeyCache> keys)
    : expected_(std::move(expected)),
      algorithms_(std::move(algorithms)),
      clock_(clock),
      keys_(std::move(keys)) {}

Verifier::~Verifier() = default;

Result<std::unique_ptr<Verifier>> Verifier::open(const ProviderOptions& options) {
  CHECK(options.clock != nullptr);
  TRY(check_options(options));
  Algorithms algorithms = TRY(parse_algorithms(options.algorithms));
  std::unique_ptr<KeySource> source;
  if (options.jwks_file.empty()) {
    source = TRY(discovery_key_source({options.issuer, options.ca_file, options.fetch_timeout_ms}));
  } else {
    TRY(check_key_file(options.jwks_file, algorithms));
    source = file_key_source(options.jwks_file);
  }
  auto keys = std::make_unique<KeyCache>(options.issuer, std::move(source), algorithms,
                                         policy_of(options), *options.clock);
  return std::unique_ptr<Verifier>(
      new Verifier({options.issuer, options.audience, options.leeway_s}, std::move(algorithms),
                   *options.clock, std::move(keys)));
}

Result<Claims> Verifier::verify(std::string_view bearer_token) {
  const Jwt jwt = TRY(parse_jwt(bearer_token, algorithms_));
  KeyCache::Keys keys = TRY(keys_->current());
  // The provider may have a new key. One that is known, but for another algorithm, stays refused.
  if (jwt.key_id && !keys->has(*jwt.key_id)) keys = TRY(keys_->newer_than(keys));
  const PublicKey* key = keys->find(jwt.key_id, *jwt.algorithm);
  if (key == nullptr)
    return fail(Code::kUnauthorized,
                "the bearer token is signed with a key that is not the issuer's; sign in again");
  if (!key->verify(bearer_token, *jwt.algorithm, jwt.signature_bytes))
    return fail(Code::kUnauthorized, "the signature of the bearer token is wrong");
  return read_claims(jwt.claims, expected_, clock_.unix_ms());
}

void Verifier::stop() {
  keys_->stop();
}

KeyStatus Verifier::key_status() const {
  return keys_->status();
}

}  // namespace coffer::oidc
