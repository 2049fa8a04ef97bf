#include "token/transfer/group.h"

#include "token/transfer/test_retries.h"

namespace coffer::token::test {
namespace {

// What was sent in vain is no repeat when it is found, and what others sent is one.
class TokenGroupRetries : public RetryTest {
 protected:
  // Those of the answers that are repeats.
  std::vector<bool> send() {
    GroupItems items;
    for (const Transfer& transfer : all_) {
      items.push_back(std::make_unique<GroupItem>());
      items.back()->transfer = transfer;
      items.back()->actor = kTester;
    }
    std::vector<bool> repeats;
    for (const GroupAnswer& answer : run_group(*community_, items, caution_)) {
      EXPECT_TRUE(answer.applied) << answer.applied.error().message;
      if (answer.applied) repeats.push_back(answer.applied->is_repeat);
    }
    expect_all_done();
    return repeats;
  }

  GroupCaution caution_;
};
INSTANTIATE_TEST_SUITE_P(Every, TokenGroupRetries, testing::Values(sql::test::Engine::kPostgres),
                         sql::test::engine_name);

TEST_P(TokenGroupRetries, CommitWhoseAnswerWasLostIsNoRepeat) {
  lose_connection();
  before_next_look([this] { insert_all(all_); });
  EXPECT_EQ(send(), (std::vector{false, false}));
}

TEST_P(TokenGroupRetries, CommitOfADecidedGroupWhoseAnswerWasLostIsNoRepeat) {
  caution_.raise();
  lose_connection();
  before_next_attempt([this] { insert_all(all_); });
  EXPECT_EQ(send(), (std::vector{false, false}));
}

TEST_P(TokenGroupRetries, LostGroupIsAppliedOnceAndNoRepeat) {
  lose_connection();
  EXPECT_EQ(send(), (std::vector{false, false}));
}

TEST_P(TokenGroupRetries, WhatWasThereBeforeALostGroupIsARepeat) {
  insert_all({all_.data(), 1});
  lose_connection();
  EXPECT_EQ(send(), (std::vector{true, false}));
}

TEST_P(TokenGroupRetries, AfterADeadlockOthersTransfersAreRepeats) {
  caution_.raise();
  deadlock();
  before_next_attempt([this] { insert_all(all_); });
  EXPECT_EQ(send(), (std::vector{true, true}));
}

class TokenReversalRetries : public RetryTest {
 protected:
  void SetUp() override {
    RetryTest::SetUp();
    if (IsSkipped()) return;
    paid_ = pay(alice_, bob_, 10);
  }
  Result<Applied> reverse() { return store().reverse(paid_, reversal_, kTester); }
  // Whether the answer is a repeat, if the first attempt ends so and somebody else then sends the
  // same.
  bool is_repeat_after(const std::function<void()>& failure) {
    failure();
    before_next_attempt([this] { EXPECT_TRUE(reverse()); });
    const auto done = reverse();
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_EQ(balance(bob_), 0);
    expect_consistent();
    return done && done->is_repeat;
  }

  Uuid paid_{}, reversal_ = random_uuid();
};
INSTANTIATE_TEST_SUITE_P(Every, TokenReversalRetries, testing::Values(sql::test::Engine::kPostgres),
                         sql::test::engine_name);

TEST_P(TokenReversalRetries, CommitWhoseAnswerWasLostIsNoRepeat) {
  EXPECT_FALSE(is_repeat_after([this] { lose_connection_at_commit(); }));
}

TEST_P(TokenReversalRetries, AfterADeadlockAnothersReversalIsARepeat) {
  EXPECT_TRUE(is_repeat_after([this] { deadlock_at_commit(); }));
}

}  // namespace
}  // namespace coffer::token::test
