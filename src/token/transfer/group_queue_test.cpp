#include "token/transfer/group_queue.h"

#include <gtest/gtest.h>

namespace coffer::token::test {
namespace {

class TokenGroupQueue : public testing::Test {
 protected:
  std::unique_ptr<GroupItem> item(const Uuid& from, const Uuid& to) {
    auto made = std::make_unique<GroupItem>();
    made->transfer = {.id = random_uuid(), .from = from, .to = to, .amount = ++amount_};
    return made;
  }
  // The amounts, which number the items.
  static std::vector<std::int64_t> amounts(const GroupItems& items) {
    std::vector<std::int64_t> list;
    for (const auto& entry : items) list.push_back(entry->transfer.amount);
    return list;
  }
  using List = std::vector<std::int64_t>;

  GroupQueue queue_;
  std::int64_t amount_ = 0;
  const Uuid a_ = random_uuid(), b_ = random_uuid(), c_ = random_uuid(), d_ = random_uuid();
};

TEST_F(TokenGroupQueue, GroupsUnderWayShareNoWallet) {
  queue_.add(item(a_, b_));
  queue_.add(item(b_, a_));
  GroupItems first = queue_.take();
  EXPECT_EQ(amounts(first), (List{1, 2}));
  queue_.add(item(b_, c_));
  queue_.add(item(c_, d_));
  GroupItems second = queue_.take();
  EXPECT_EQ(amounts(second), (List{4}));
  queue_.release(first);
  EXPECT_TRUE(queue_.take().empty());  // c is still under way
  queue_.release(second);
  EXPECT_EQ(amounts(queue_.take()), (List{3}));
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(TokenGroupQueue, GroupsUnderWayShareNoId) {
  queue_.add(item(a_, b_));
  auto same = item(c_, d_);
  GroupItems first = queue_.take();
  same->transfer.id = first[0]->transfer.id;
  queue_.add(std::move(same));
  EXPECT_TRUE(queue_.take().empty());
  queue_.release(first);
  EXPECT_EQ(amounts(queue_.take()), (List{2}));
}

TEST_F(TokenGroupQueue, GroupIsBounded) {
  for (std::size_t i = 0; i < GroupQueue::kMaxGroup + 5; ++i) queue_.add(item(a_, b_));
  EXPECT_EQ(queue_.take().size(), GroupQueue::kMaxGroup);
  EXPECT_EQ(queue_.size(), 5u);
}

// a and b are never free at the same moment, until the transfer between them keeps others away.
TEST_F(TokenGroupQueue, NobodyIsPassedOverForEver) {
  queue_.add(item(a_, c_));
  GroupItems first = queue_.take();
  queue_.add(item(b_, d_));
  GroupItems second = queue_.take();
  queue_.add(item(a_, b_));
  for (int round = 0; round < 100; ++round) {
    queue_.add(item(a_, c_));
    queue_.release(first);
    first = queue_.take();
    if (!first.empty() && first[0]->transfer.amount == 3) return;
    queue_.add(item(b_, d_));
    queue_.release(second);
    second = queue_.take();
    if (!second.empty() && second[0]->transfer.amount == 3) return;
  }
  FAIL() << "passed over 200 times";
}

TEST_F(TokenGroupQueue, BlockedWalletStallsNobodyElse) {
  queue_.add(item(a_, b_));
  GroupItems group = queue_.take();
  queue_.release(group);
  queue_.block(std::move(group[0]), a_, 100);
  queue_.add(item(c_, a_));
  queue_.add(item(c_, d_));
  EXPECT_EQ(amounts(queue_.take()), (List{3}));
  EXPECT_EQ(queue_.size(), 2u);
  EXPECT_EQ(queue_.serve_blocked(), a_);
  EXPECT_EQ(queue_.serve_blocked(), std::nullopt);  // one thread at a time
  // c is under way with the third.
  EXPECT_EQ(amounts(queue_.take_blocked(a_)), (List{1}));
  EXPECT_TRUE(queue_.is_still_blocked(a_));
  queue_.unblock(a_);
  EXPECT_EQ(queue_.size(), 1u);
  EXPECT_FALSE(queue_.is_still_blocked(a_));
}

TEST_F(TokenGroupQueue, OverdueItemsAreTakenOut) {
  queue_.block(item(a_, b_), a_, 100);
  queue_.block(item(a_, c_), a_, 200);
  EXPECT_EQ(amounts(queue_.take_overdue(a_, 150)), (List{1}));
  EXPECT_EQ(queue_.size(), 1u);
  EXPECT_EQ(amounts(queue_.take_all()), (List{2}));
  EXPECT_EQ(queue_.size(), 0u);
}

// Of two blocked wallets one may be free by the time the other is.
TEST_F(TokenGroupQueue, ItemOfTwoBlockedWalletsWaitsForBoth) {
  queue_.block(item(a_, b_), a_, 100);
  queue_.block(item(b_, c_), b_, 100);
  EXPECT_TRUE(queue_.take_blocked(a_).empty());
  EXPECT_FALSE(queue_.is_still_blocked(a_));
  EXPECT_EQ(amounts(queue_.take_blocked(b_)), (List{2, 1}));
}

}  // namespace
}  // namespace coffer::token::test
