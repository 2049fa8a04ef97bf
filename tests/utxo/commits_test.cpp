// Which blocks share a commit of the UTXO state (E2).
#include "support/chain.h"

namespace coffer::utxo {
namespace {

Options options_with_window(std::uint64_t window) {
  Options options;
  options.rollback_window = options.prune_depth = window;
  return options;
}

// How many blocks another reader of the database sees: what was held back is not among them.
std::uint64_t committed_blocks(Chain& chain) {
  const auto network = chain::find_network("bitcoin", "devnet").value();
  return open_state(chain.db(), network).value()->stats().value().at.block_count();
}

TEST(UtxoCommits, CommitNeverSpansTheWindowLine) {
  Chain chain("bitcoin", options_with_window(3));
  for (const std::uint64_t behind : {5, 4, 3}) ASSERT_TRUE(chain.add({}, 0, behind));
  EXPECT_EQ(committed_blocks(chain), 0u) << "three blocks below the window are held";
  ASSERT_TRUE(chain.add({}, 0, 2));
  EXPECT_EQ(committed_blocks(chain), 3u) << "they are committed without the first of the window";
  // The source found many more blocks, so the next one is below the window again.
  ASSERT_TRUE(chain.add({}, 0, 50));
  EXPECT_EQ(committed_blocks(chain), 4u);
  ASSERT_TRUE(chain.store().flush());
  EXPECT_EQ(committed_blocks(chain), 5u);
  chain.expect_sound();
}

TEST(UtxoCommits, BlocksOfTheWindowAreGroupedOnlyWhileBehind) {
  Chain chain("bitcoin", options_with_window(10));
  ASSERT_TRUE(chain.add({}, 0, 2));
  ASSERT_TRUE(chain.add({}, 0, 1));
  EXPECT_EQ(committed_blocks(chain), 0u);
  for (const std::uint64_t blocks : {3, 4, 5}) {
    ASSERT_TRUE(chain.add({}, 0, 0));
    EXPECT_EQ(committed_blocks(chain), blocks);
  }
}

TEST(UtxoCommits, FullCacheEndsAGroup) {
  Options options = options_with_window(10);
  options.cache_bytes = 1;
  Chain chain("bitcoin", options);
  ASSERT_TRUE(chain.add({{id(1), {}, {kScript}}}, 0, 50));
  EXPECT_EQ(committed_blocks(chain), 1u);
}

}  // namespace
}  // namespace coffer::utxo
