// Who asks: the host's administrator by a token of the data directory, a service by an API key, a
// person by a bearer token of the OpenID Connect provider. Refusals are counted and only a sample
// of them is logged.
// Invariant: what a request carries as a credential is never logged or answered.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <coffer/base/clock.h>
#include <coffer/token/store.h>
#include "api/metrics.h"
#include "api/routes.h"
#include "oidc/verifier.h"
#include "token/routes/authority.h"
#include "token/routes/rate_limit.h"
#include "token/settings.h"

namespace coffer::token {

// Thread-safe.
class Access {
 public:
  // `clock` outlives it. Errors: those of oidc::Verifier::open.
  static Result<std::unique_ptr<Access>> open(const Settings& settings, const Clock& clock);
  ~Access();

  // Before requests come; they outlive it.
  void set_metrics(api::Metrics& metrics) { metrics_ = &metrics; }
  // Once the routes are added.
  void set_identify(api::Identify identify) { identify_ = std::move(identify); }

  // Who sent the request, as far as this community is concerned; `store` is null if there is no
  // such community: nobody but the host can learn that. Errors: kUnauthorized; kUnavailable while
  // the provider's keys are unknown; those of the store.
  Result<Principal> identify(const http::Request& request, std::string_view community,
                             Store* store);
  // The host's administrator is not limited. Errors: kUnavailable with the reason rate_limited.
  Result<> limit(const Principal& who);
  // Counts an answer that refuses, and logs a few of them.
  void note_refusal(const Error& error, const http::Request& request, std::string_view who);
  // What was remembered of keys, roles and identities is asked anew.
  void forget();

 private:
  struct Known {
    Principal who;
    std::int64_t until_ms = 0;
  };
  Access(const Settings& settings, const Clock& clock);
  Result<Principal> by_key(std::string_view secret, std::string_view community, Store* store);
  Result<Principal> by_bearer(std::string_view text, std::string_view community, Store* store);
  Error unauthorized() const;
  std::optional<Principal> recall(const std::string& key);
  void remember(const std::string& key, const Principal& who);

  const Settings settings_;
  api::Metrics* metrics_ = nullptr;
  const Clock& clock_;
  api::Identify identify_;
  std::unique_ptr<oidc::Verifier> verifier_;  // null: no provider
  RateLimiter limiter_;
  std::mutex mutex_;  // guards what follows
  std::map<std::string, Known, std::less<>> known_;
  std::int64_t sample_since_ms_ = 0;
  int sampled_ = 0;
};

}  // namespace coffer::token
