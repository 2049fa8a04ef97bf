// The arithmetic against a tree that is really built.
#include "mmr/position.h"

#include <gtest/gtest.h>

#include "mmr/test_support.h"

namespace coffer::mmr {
namespace {

static_assert(size_of(7) == 11 && leaf_position(6) == 10 && leaves_in(11) == 7 && !leaves_in(2));

TEST(Position, AgreesWithABuiltTreeOfAnySize) {
  for (std::uint64_t leaves = 0; leaves <= 200; ++leaves) {
    const NaiveRange range = naive_range(std::vector<Bytes>(leaves, Bytes(1)), 0);
    ASSERT_EQ(size_of(leaves), range.nodes.size());
    ASSERT_EQ(leaves_in(range.nodes.size()), leaves);
    const Peaks peaks(leaves);
    ASSERT_EQ(std::vector(peaks.view().begin(), peaks.view().end()), range.peaks);
    std::uint64_t leaf = 0;
    for (const NaiveNode& node : range.nodes) {
      ASSERT_EQ(height_of(node.position), node.height);
      ASSERT_EQ(position_of(place_of(node.position)), node.position);
      ASSERT_EQ(is_peak(place_of(node.position), leaves),
                std::count(range.peaks.begin(), range.peaks.end(), node.position) == 1);
      ASSERT_TRUE(node.height > 0 || leaf_position(leaf++) == node.position);
      const auto children = children_of(node.position);
      ASSERT_EQ(children.has_value(), node.height > 0);
      if (!children) continue;
      ASSERT_EQ(children->left, node.left);
      ASSERT_EQ(children->right, node.right);
      ASSERT_EQ(parent_of(node.left), node.position);
      ASSERT_EQ(parent_of(node.right), node.position);
      ASSERT_EQ(sibling_of(node.left), node.right);
      ASSERT_EQ(sibling_of(node.right), node.left);
    }
  }
}

TEST(Position, KnowsWhichSizesThereAre) {
  std::vector<bool> possible(10'000);
  for (std::uint64_t leaves = 0; size_of(leaves) < possible.size(); ++leaves)
    possible[size_of(leaves)] = true;
  for (std::uint64_t size = 0; size < possible.size(); ++size)
    ASSERT_EQ(leaves_in(size).has_value(), possible[size]) << size;
}

TEST(Position, HoldsUpToTheBound) {
  for (const std::uint64_t leaves : {kMaxLeaves, kMaxLeaves - 1, kMaxLeaves / 2 + 12345}) {
    EXPECT_EQ(leaves_in(size_of(leaves)), leaves);
    const std::uint64_t last = leaf_position(leaves - 1);
    EXPECT_EQ(height_of(last), 0u);
    EXPECT_EQ(place_of(last), (Place{0, leaves - 1}));
    EXPECT_EQ(children_of(parent_of(last))->right, std::max(last, sibling_of(last)));
  }
  EXPECT_EQ(Peaks(kMaxLeaves).view().size(), 1u);
  EXPECT_EQ(Peaks(kMaxLeaves - 1).view().size(), 62u);
  EXPECT_EQ(height_of(Peaks(kMaxLeaves).view()[0]), 62u);
}

}  // namespace
}  // namespace coffer::mmr
