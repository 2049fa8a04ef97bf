#include "token/routes/rate_limit.h"

#include <gtest/gtest.h>

namespace coffer::token {
namespace {

TEST(TokenRateLimit, BurstThenTheRate) {
  ManualClock clock{1'000'000};
  RateLimiter limiter({.per_second = 10, .burst = 3}, clock);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.take("user:1"), 0);
  EXPECT_EQ(limiter.take("user:1"), 100);
  EXPECT_EQ(limiter.take("user:2"), 0);  // another caller has its own
  clock.advance_ms(99);
  EXPECT_GT(limiter.take("user:1"), 0);
  clock.advance_ms(1);
  EXPECT_EQ(limiter.take("user:1"), 0);
  EXPECT_GT(limiter.take("user:1"), 0);
  clock.advance_ms(60'000);  // never more than a burst
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.take("user:1"), 0);
  EXPECT_GT(limiter.take("user:1"), 0);
}

}  // namespace
}  // namespace coffer::token
