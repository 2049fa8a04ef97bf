#include "follow/behind.h"

#include <gtest/gtest.h>

namespace coffer::follow {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

TEST(Behind, CountsMissingBlocks) {
  EXPECT_EQ(blocks_behind(std::nullopt, std::nullopt), 0u);
  EXPECT_EQ(blocks_behind(std::nullopt, 7), 0u);
  EXPECT_EQ(blocks_behind(0, std::nullopt), 1u);
  EXPECT_EQ(blocks_behind(9, std::nullopt), 10u);
  EXPECT_EQ(blocks_behind(9, 9), 0u);
  EXPECT_EQ(blocks_behind(9, 8), 1u);
  EXPECT_EQ(blocks_behind(8, 9), 0u);  // the source has fallen back
}

TEST(Behind, LargestNumberDoesNotWrap) {
  EXPECT_EQ(blocks_behind(kMost, std::nullopt), kMost);
  EXPECT_EQ(blocks_behind(kMost, 9), kMost - 9);
  EXPECT_EQ(blocks_behind(kMost, kMost), 0u);
  EXPECT_EQ(blocks_behind(9, kMost), 0u);
}

TEST(Behind, BlockDeeperThanWindowIsBelowIt) {
  EXPECT_FALSE(is_below_window(std::nullopt, 0, 10));
  EXPECT_FALSE(is_below_window(10, 0, 10));
  EXPECT_TRUE(is_below_window(11, 0, 10));
  EXPECT_TRUE(is_below_window(kMost, 0, 10));
  EXPECT_FALSE(is_below_window(kMost, kMost - 10, 10));
  EXPECT_FALSE(is_below_window(9, kMost - 5, 10));
}

}  // namespace
}  // namespace coffer::follow
