// Who sent a request: verifies the bearer tokens (JWT) that an OpenID Connect provider gave out.
// Invariant: what is accepted depends on the options alone: issuer, audience, algorithms. A bearer
// token chooses none of them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <coffer/base/clock.h>
#include "base/result.h"
#include "oidc/claims.h"
#include "oidc/key_cache.h"

namespace coffer::oidc {

inline constexpr std::int64_t kMaxLeewayS = 300;

struct ProviderOptions {
  std::string issuer;    // exactly as in 'iss'; for discovery its https:// address
  std::string audience;  // exactly as in 'aud'
  std::vector<std::string> algorithms = {"RS256", "ES256"};  // also RS384…, PS256…, ES384, ES512
  std::filesystem::path jwks_file;  // the key set; empty: by discovery at the issuer
  std::filesystem::path ca_file;    // PEM, for discovery; empty takes the system's
  std::int64_t leeway_s = 60;       // between the provider's clock and ours; 0 to kMaxLeewayS

  // Discovery. A key file is read again whenever a second has passed.
  std::int64_t fetch_timeout_ms = 5'000;  // for both documents; 100 to 30,000
  std::int64_t refresh_s = 300;           // a key that the provider removed is good so long at most
  std::int64_t min_refresh_s = 10;        // between two fetches, whoever asks; 1 to refresh_s
  std::int64_t max_age_s = 86'400;  // keys of a provider that cannot be reached are good so long

  const Clock* clock = &system_clock();
};

// Thread-safe.
class Verifier {
 public:
  // Reads a key file, so that a mistake is seen at once; a provider is first asked by verify().
  // Errors: kUsage (an option); for a key file also kNotFound, kUnavailable, kTooLarge, kCorrupt,
  // kInvalidInput.
  static Result<std::unique_ptr<Verifier>> open(const ProviderOptions& options);
  ~Verifier();
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  // The claims of a bearer token that is good now. Cost: one check of a signature, about 0.1 ms;
  // when keys are unknown or due also a fetch, bounded by fetch_timeout_ms. Errors: kUnauthorized,
  // with a message that holds nothing of the text; kUnavailable while no key of the provider is
  // known.
  Result<Claims> verify(std::string_view bearer_token);

  // Ends fetches and waits; what is known goes on being used. Idempotent.
  void stop();

  KeyStatus key_status() const;

 private:
  Verifier(ExpectedClaims expected, Algorithms algorithms, const Clock& clock,
           std::unique_ptr<KeyCache> keys);

  const ExpectedClaims expected_;
  const Algorithms algorithms_;
  const Clock& clock_;
  const std::unique_ptr<KeyCache> keys_;
};

}  // namespace coffer::oidc
