#include "base/random.h"
#include "token/transfer/test_retries.h"

namespace coffer::token::test {
namespace {

class TokenBatches : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    if (IsSkipped()) return;
    alice_ = make_user_wallet(1'000);
    bob_ = make_user_wallet();
  }

  Uuid alice_{}, bob_{};
};
COFFER_ON_EVERY_ENGINE(TokenBatches);

TEST_P(TokenBatches, ExpiredHoldIsEnded) {
  ASSERT_TRUE(store().open_hold(
      {.id = random_uuid(), .wallet = alice_, .to = bob_, .amount = 600, .duration_ms = 1'000},
      kTester));
  set_clock(kNow + 1'000);
  const std::vector<Transfer> all = {make_transfer(alice_, bob_, 500),
                                     make_transfer(alice_, bob_, 500)};
  const auto done = store().batch(all, BatchMode::kAll, kTester);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->back()->balance, 0);
}

TEST_P(TokenBatches, BatchIsAppliedInOrder) {
  const Uuid carol = make_user_wallet();
  // Bob and Carol have nothing before.
  std::vector<Transfer> all = {make_transfer(alice_, bob_, 1'000), make_transfer(bob_, carol, 600),
                               make_transfer(carol, alice_, 100)};
  all.push_back(all[1]);
  const auto done = store().batch(all, BatchMode::kAll, kTester);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ((*done)[0]->balance, 0);
  EXPECT_EQ((*done)[1]->balance, 400);
  EXPECT_EQ((*done)[2]->balance, 500);
  EXPECT_TRUE((*done)[3]->is_repeat);
  EXPECT_EQ((*done)[3]->balance, 400);
  const auto again = store().batch(all, BatchMode::kAll, kTester);
  ASSERT_TRUE(again) << again.error().message;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE((*again)[i]->is_repeat) << i;
    EXPECT_EQ((*again)[i]->balance, (*done)[i]->balance) << i;
  }
  expect_consistent();
}

TEST_P(TokenBatches, BatchIsAppliedAsAWholeOrNotAtAll) {
  const std::int64_t before = transactions();
  const std::vector<Transfer> all = {make_transfer(alice_, bob_, 900),
                                     make_transfer(alice_, bob_, 200),
                                     make_transfer(alice_, random_uuid(), 1)};
  const auto refused = store().batch(all, BatchMode::kAll, kTester);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "insufficient_balance");
  EXPECT_TRUE(refused.error().message.starts_with("item 2: ")) << refused.error().message;
  EXPECT_EQ(transactions(), before);

  std::vector<Transfer> mixed = all;
  mixed.push_back(make_transfer(alice_, bob_, -1));
  mixed.push_back(make_transfer(alice_, bob_, 100));
  mixed.push_back(all[0]);
  mixed.back().amount = 901;
  const auto each = store().batch(mixed, BatchMode::kEach, kTester);
  ASSERT_TRUE(each) << each.error().message;
  EXPECT_EQ((*each)[0]->balance, 100);
  EXPECT_EQ(reason_of((*each)[1]), "insufficient_balance");
  EXPECT_EQ(reason_of((*each)[2]), "recipient_not_found");
  EXPECT_EQ((*each)[3].error().code, Code::kInvalidInput);
  EXPECT_EQ((*each)[4]->balance, 0);
  EXPECT_EQ(reason_of((*each)[5]), "id_taken");
  EXPECT_EQ(balance(bob_), 1'000);
  expect_consistent();
}

TEST_P(TokenBatches, BatchAnswersAreStepsOfTheBalance) {
  Rng rng(5);
  const std::vector<Uuid> wallets = {bank_, make_wallet(5'000), make_wallet(5'000), make_wallet()};
  std::vector<Transfer> all;
  for (int i = 0; i < 200; ++i) {
    const auto from = rng.below(3), to = rng.below(4);
    all.push_back(make_transfer(wallets[from], wallets[from != 0 && to == from ? 3 : to],
                                1 + static_cast<std::int64_t>(rng.below(20))));
    if (rng.one_in(10)) all.back().created_at_ms = kNow - 5;
  }
  const auto done = store().batch(all, BatchMode::kAll, kTester);
  ASSERT_TRUE(done) << done.error().message;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ((*done)[i]->balance,
              count("SELECT balance FROM @wallet_entries WHERE transaction_id = $1::uuid"
                    " AND wallet_id = $2::uuid",
                    {id(all[i].id), id(all[i].from)}))
        << i;
    EXPECT_EQ((*done)[i]->created_at_ms, all[i].created_at_ms.value_or(kNow));
    EXPECT_FALSE((*done)[i]->is_repeat);
  }
  expect_consistent();
  const auto again = store().batch(all, BatchMode::kEach, kTester);
  ASSERT_TRUE(again) << again.error().message;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE((*again)[i]->is_repeat);
    EXPECT_EQ((*again)[i]->balance, (*done)[i]->balance);
    EXPECT_EQ((*again)[i]->created_at_ms, (*done)[i]->created_at_ms);
  }
}

TEST_P(TokenBatches, GoodBatchWaitsOnceForTheServer) {
  if (is_sqlite()) GTEST_SKIP() << "there is no server";
  const auto batch_of_two = [&] {
    return store().batch(
        std::vector{make_transfer(alice_, bob_, 1), make_transfer(bob_, alice_, 1)},
        BatchMode::kAll, kTester);
  };
  ASSERT_TRUE(batch_of_two());  // statements are prepared
  const auto waits = db().stats().server_waits;
  ASSERT_TRUE(batch_of_two());
  EXPECT_EQ(db().stats().server_waits - waits, 1u);
}

TEST_P(TokenBatches, BatchIsBounded) {
  EXPECT_EQ(store().batch({}, BatchMode::kAll, kTester).error().code, Code::kInvalidInput);
  const std::vector<Transfer> many(kMaxBatch + 1, make_transfer(alice_, bob_, 1));
  EXPECT_EQ(store().batch(many, BatchMode::kAll, kTester).error().code, Code::kInvalidInput);
}

TEST_P(TokenBatches, LargeBatchIsOneTransaction) {
  std::vector<Uuid> wallets;
  wallets.reserve(20);
  for (int i = 0; i < 20; ++i) wallets.push_back(make_wallet());
  std::vector<Transfer> all;
  all.reserve(kMaxBatch);
  for (std::size_t i = 0; i < kMaxBatch; ++i)
    all.push_back(make_transfer(bank_, wallets[i % wallets.size()], 1));
  const auto done = store().batch(all, BatchMode::kAll, kTester);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->size(), kMaxBatch);
  EXPECT_EQ(balance(wallets[3]), 500);
  expect_consistent();
}

// What was sent in vain is no repeat when it is found, and what others sent is one.
class TokenBatchRetries : public RetryTest {
 protected:
  // Those of the answers that are repeats.
  std::vector<bool> send() {
    const auto done = store().batch(all_, BatchMode::kAll, kTester);
    std::vector<bool> repeats;
    if (!done) ADD_FAILURE() << done.error().message;
    if (done)
      for (const auto& answer : *done) repeats.push_back(answer->is_repeat);
    expect_all_done();
    return repeats;
  }
};
INSTANTIATE_TEST_SUITE_P(Every, TokenBatchRetries, testing::Values(sql::test::Engine::kPostgres),
                         sql::test::engine_name);

TEST_P(TokenBatchRetries, CommitWhoseAnswerWasLostIsNoRepeat) {
  lose_connection();
  before_next_attempt([this] { insert_all(all_); });
  EXPECT_EQ(send(), (std::vector{false, false}));
}

TEST_P(TokenBatchRetries, LostBatchIsAppliedOnceAndNoRepeat) {
  lose_connection();
  EXPECT_EQ(send(), (std::vector{false, false}));
}

TEST_P(TokenBatchRetries, WhatWasThereBeforeALostBatchIsARepeat) {
  insert_all({all_.data(), 1});
  lose_connection();
  EXPECT_EQ(send(), (std::vector{true, false}));
}

TEST_P(TokenBatchRetries, AfterADeadlockOthersTransfersAreRepeats) {
  deadlock();
  before_next_attempt([this] { insert_all(all_); });
  EXPECT_EQ(send(), (std::vector{true, true}));
}

}  // namespace
}  // namespace coffer::token::test
