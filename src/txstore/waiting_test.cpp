#include "txstore/waiting.h"

#include <gtest/gtest.h>

namespace coffer::txstore {
namespace {

Hash256 waiting_id(std::uint64_t number) {
  Hash256 id{};
  store_be64(id.data(), number);
  return id;
}

// Of which only the id and the size matter here.
bus::TxSeen waiting_tx(std::uint64_t number, std::size_t bytes = 200) {
  auto block = std::make_shared<chain::Block>();
  block->storage.resize(bytes);
  block->raw = block->storage;
  block->txs.emplace_back().id = waiting_id(number);
  return {block};
}

std::vector<std::uint64_t> taken(WaitingTxs& waiting, std::uint64_t parent) {
  std::vector<std::uint64_t> numbers;
  for (const bus::TxSeen& seen : waiting.take(waiting_id(parent)))
    numbers.push_back(load_be64(seen.id().data()));
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

using Numbers = std::vector<std::uint64_t>;
constexpr std::size_t kPlenty = 1u << 30;

TEST(WaitingTxs, ChildrenOfOneParentAreTakenOnce) {
  WaitingTxs waiting(100, kPlenty);
  waiting.add(waiting_tx(1), waiting_id(50));
  waiting.add(waiting_tx(2), waiting_id(50));
  waiting.add(waiting_tx(3), waiting_id(51));
  EXPECT_EQ(waiting.size(), 3u);
  EXPECT_EQ(taken(waiting, 50), (Numbers{1, 2}));
  EXPECT_EQ(taken(waiting, 50), Numbers{});
  EXPECT_EQ(taken(waiting, 51), Numbers{3});
  EXPECT_EQ(waiting.size(), 0u);
}

TEST(WaitingTxs, AddedAgainWaitsForTheNewParentOnly) {
  WaitingTxs waiting(100, kPlenty);
  waiting.add(waiting_tx(1), waiting_id(50));
  waiting.add(waiting_tx(1), waiting_id(51));
  EXPECT_EQ(waiting.size(), 1u);
  EXPECT_EQ(taken(waiting, 50), Numbers{});
  EXPECT_EQ(taken(waiting, 51), Numbers{1});
}

TEST(WaitingTxs, RemovedIsNotTaken) {
  WaitingTxs waiting(100, kPlenty);
  waiting.add(waiting_tx(1), waiting_id(50));
  waiting.add(waiting_tx(2), waiting_id(50));
  waiting.remove(waiting_id(1));
  waiting.remove(waiting_id(7));
  EXPECT_EQ(taken(waiting, 50), Numbers{2});
}

TEST(WaitingTxs, OldestGivesWayToTheBoundOfCount) {
  WaitingTxs waiting(3, kPlenty);
  for (std::uint64_t i = 1; i <= 5; ++i) waiting.add(waiting_tx(i), waiting_id(50));
  EXPECT_EQ(waiting.size(), 3u);
  EXPECT_EQ(taken(waiting, 50), (Numbers{3, 4, 5}));
}

TEST(WaitingTxs, OldestGivesWayToTheBoundOfBytes) {
  const std::size_t each = bus::weight(waiting_tx(1, 5'000));
  WaitingTxs waiting(100, 2 * each + each / 2);
  for (std::uint64_t i = 1; i <= 4; ++i) waiting.add(waiting_tx(i, 5'000), waiting_id(50));
  waiting.add(waiting_tx(9, 50'000), waiting_id(50));  // larger than the bound: nothing gives way
  EXPECT_EQ(taken(waiting, 50), (Numbers{3, 4}));
  // The bytes of those that went are free again.
  for (std::uint64_t i = 5; i <= 6; ++i) waiting.add(waiting_tx(i, 5'000), waiting_id(50));
  EXPECT_EQ(waiting.size(), 2u);
}

// Its first place in the order is no longer its own.
TEST(WaitingTxs, AddedAgainIsTheYoungest) {
  WaitingTxs waiting(3, kPlenty);
  for (std::uint64_t i = 1; i <= 3; ++i) waiting.add(waiting_tx(i), waiting_id(50));
  waiting.remove(waiting_id(1));
  waiting.add(waiting_tx(1), waiting_id(50));
  waiting.add(waiting_tx(4), waiting_id(50));  // 2 is the oldest now
  EXPECT_EQ(taken(waiting, 50), (Numbers{1, 3, 4}));
}

TEST(WaitingTxs, ChurnKeepsTheBound) {
  WaitingTxs waiting(10, kPlenty);
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    waiting.add(waiting_tx(i % 25), waiting_id(i % 7));
    if (i % 3 == 0) waiting.remove(waiting_id(i % 11));
    ASSERT_LE(waiting.size(), 10u);
  }
}

// As Consumer takes them: each that arrives frees the next, in a loop and not by recursion.
TEST(WaitingTxs, ChainOfTenThousandIsFreedOneByOne) {
  constexpr std::uint64_t kLength = 10'000;
  WaitingTxs waiting(kLength, kPlenty);
  for (std::uint64_t i = kLength; i >= 1; --i) waiting.add(waiting_tx(i), waiting_id(i - 1));
  EXPECT_EQ(waiting.size(), kLength);
  std::uint64_t arrived = 0;
  while (waiting.size() > 0) {
    ASSERT_EQ(taken(waiting, arrived), Numbers{arrived + 1});
    ++arrived;
  }
  EXPECT_EQ(arrived, kLength);
}

}  // namespace
}  // namespace coffer::txstore
