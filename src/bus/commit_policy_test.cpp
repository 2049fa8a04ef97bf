#include "bus/commit_policy.h"

#include <gtest/gtest.h>

namespace coffer::bus {
namespace {

BlockApplied block_behind(std::uint64_t behind, bool below_window = false) {
  return {Ordinal(0), nullptr, below_window, behind};
}

TEST(CommitPolicy, BlockAtTheTipIsCommittedAtOnce) {
  const CommitPolicy policy({.blocks = 10, .bytes = 1000});
  EXPECT_TRUE(policy.must_commit_after({.blocks = 1, .bytes = 1}, block_behind(0)));
}

TEST(CommitPolicy, BlocksAreHeldWhileBehindOrBelowTheWindow) {
  const CommitPolicy policy({.blocks = 10, .bytes = 1000});
  EXPECT_FALSE(policy.must_commit_after({.blocks = 1, .bytes = 1}, block_behind(1)));
  // The source does not say how much it has, but no rollback reaches the block.
  EXPECT_FALSE(policy.must_commit_after({.blocks = 1, .bytes = 1, .below_window = true},
                                        block_behind(0, true)));
}

TEST(CommitPolicy, CommitNeverSpansTheWindowLine) {
  const CommitPolicy policy(CommitBudget{});
  for (const bool held_below : {false, true})
    for (const bool next_below : {false, true}) {
      const HeldBlocks held{.blocks = 3, .bytes = 3, .below_window = held_below};
      EXPECT_EQ(policy.must_commit_before(held, block_behind(50, next_below)),
                held_below != next_below)
          << held_below << next_below;
    }
  EXPECT_FALSE(policy.must_commit_before({}, block_behind(50, true))) << "nothing is held";
}

TEST(CommitPolicy, BudgetsOfBlocksAndBytesEndAGroup) {
  const CommitPolicy policy({.blocks = 3, .bytes = 100});
  const auto is_full = [&](std::size_t blocks, std::size_t bytes) {
    return policy.must_commit_after({.blocks = blocks, .bytes = bytes}, block_behind(50));
  };
  EXPECT_FALSE(is_full(2, 99));
  EXPECT_TRUE(is_full(3, 99));
  EXPECT_TRUE(is_full(2, 100));
}

// The newest block is behind by 0, so a rollback of `window` blocks ends before the one that is
// behind by window - 1.
TEST(CommitPolicy, OwnWindowDrawsItsOwnLine) {
  const CommitPolicy policy({.window = 10});
  EXPECT_FALSE(policy.is_below_window(block_behind(9, true)));
  EXPECT_TRUE(policy.is_below_window(block_behind(10, false)));
  EXPECT_TRUE(policy.must_commit_before({.blocks = 1, .bytes = 1, .below_window = true},
                                        block_behind(9, true)));
}

}  // namespace
}  // namespace coffer::bus
