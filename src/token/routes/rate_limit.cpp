#include "token/routes/rate_limit.h"

#include <cmath>

namespace coffer::token {
namespace {

constexpr std::size_t kMaxCallers = 100'000;

}  // namespace

std::int64_t RateLimiter::take(std::string_view caller) {
  const std::int64_t now = clock_.steady_ms();
  const auto burst = static_cast<double>(limit_.burst);
  std::lock_guard lock(mutex_);
  auto found = buckets_.find(caller);
  if (found == buckets_.end()) {
    if (buckets_.size() >= kMaxCallers) forget_full(now);
    found = buckets_.emplace(std::string(caller), Bucket{burst, now}).first;
  }
  Bucket& bucket = found->second;
  const double per_ms = static_cast<double>(limit_.per_second) / 1000.0;
  bucket.requests =
      std::min(burst, bucket.requests + static_cast<double>(now - bucket.at_ms) * per_ms);
  bucket.at_ms = now;
  if (bucket.requests >= 1) {
    bucket.requests -= 1;
    return 0;
  }
  return std::max<std::int64_t>(1, std::llround(std::ceil((1 - bucket.requests) / per_ms)));
}

void RateLimiter::forget_full(std::int64_t now_ms) {
  const auto full_after_ms = static_cast<std::int64_t>(1000 * limit_.burst / limit_.per_second) + 1;
  std::erase_if(buckets_,
                [&](const auto& one) { return now_ms - one.second.at_ms >= full_after_ms; });
  if (buckets_.size() >= kMaxCallers) buckets_.clear();
}

}  // namespace coffer::token
