// How often each caller may ask: a bucket of tokens for each, refilled with time.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include <coffer/base/clock.h>
#include "token/settings.h"

namespace coffer::token {

// Thread-safe.
class RateLimiter {
 public:
  RateLimiter(const RateLimit& limit, const Clock& clock) : limit_(limit), clock_(clock) {}

  // 0 if the caller may ask now, which uses up one request; else how long to wait, in ms.
  std::int64_t take(std::string_view caller);

 private:
  struct Bucket {
    double requests = 0;
    std::int64_t at_ms = 0;
  };
  void forget_full(std::int64_t now_ms);

  const RateLimit limit_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Bucket, std::less<>> buckets_;  // bounded: full ones are forgotten
};

}  // namespace coffer::token
