#include "follow/retry.h"

#include <gtest/gtest.h>

namespace coffer::follow {
namespace {

const Error kAway{Code::kUnavailable, true, "away"};
const Error kGarbled{Code::kInvalidInput, false, "no block"};
const Error kOther{Code::kConflict, false, "another chain"};

TEST(Retry, UnavailableSourceIsRetriedForEver) {
  Retry retry({.first_pause_ms = 1'000, .longest_pause_ms = 10'000});
  int told = 0;
  for (int i = 0; i < 10'000; ++i) {
    const RetryDecision decision = retry.failed(kAway, false);
    ASSERT_FALSE(decision.give_up);
    ASSERT_GE(decision.pause_ms, 1'000);
    ASSERT_LE(decision.pause_ms, 10'000);
    told += decision.tell ? 1 : 0;
  }
  EXPECT_EQ(told, 14);  // 1, 2, 4, … 8192
}

TEST(Retry, PausesDoubleUntilABlockComes) {
  Retry retry({.first_pause_ms = 1'000, .longest_pause_ms = 5'000});
  for (const int pause_ms : {1'000, 2'000, 4'000, 5'000, 5'000})
    EXPECT_EQ(retry.failed(kAway, false).pause_ms, pause_ms);
  EXPECT_EQ(retry.failed(kAway, true).pause_ms, 1'000);
}

TEST(Retry, BadAnswersCountOnlyInARow) {
  Retry retry({.max_bad_answers = 3});
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(retry.failed(kGarbled, false).give_up);
    EXPECT_FALSE(retry.failed(kGarbled, false).give_up);
    EXPECT_FALSE(retry.failed(kAway, false).give_up);
  }
  EXPECT_FALSE(retry.failed(kGarbled, false).give_up);
  EXPECT_FALSE(retry.failed(kGarbled, false).give_up);
  EXPECT_FALSE(retry.failed(kGarbled, true).give_up);  // a block came in between
  EXPECT_FALSE(retry.failed(kGarbled, false).give_up);
  EXPECT_TRUE(retry.failed(kGarbled, false).give_up);
}

TEST(Retry, OtherChainIsBelievedTheThirdTime) {
  Retry retry({.max_bad_answers = 0});
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(retry.failed(kGarbled, false).give_up);
  EXPECT_FALSE(retry.failed(kOther, false).give_up);
  EXPECT_FALSE(retry.failed(kOther, false).give_up);
  EXPECT_TRUE(retry.failed(kOther, false).give_up);
}

TEST(Retry, NewProblemIsLoggedAtOnce) {
  Retry retry({.max_bad_answers = 0});
  for (int i = 0; i < 4; ++i) retry.failed(kAway, false);
  EXPECT_FALSE(retry.failed(kAway, false).tell);
  EXPECT_TRUE(retry.failed(kGarbled, false).tell);
}

}  // namespace
}  // namespace coffer::follow
