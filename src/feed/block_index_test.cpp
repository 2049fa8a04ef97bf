#include "feed/block_index.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "feed/devnet_chain.h"

namespace coffer::feed {
namespace {

TEST(Work, IsWhatBitcoinCounts) {
  // Difficulty 1 is 2^32 + 2^16 + 1 hashes; regtest's target is half of all numbers.
  EXPECT_EQ(work_of_bits(0x1d00ffff), Work::of(0x100010001));
  EXPECT_EQ(work_of_bits(0x207fffff), Work::of(2));
  EXPECT_EQ(work_of_bits(0x03000001), (Work{{1ull << 63, 0, 0, 0}}));  // target 1
  EXPECT_EQ(work_of_bits(0x1b0404cb), Work::of(0x3fb3ab764c00));       // difficulty 16,307
  for (std::uint32_t bad : {0u, 0x1d80ffffu, 0x22010000u, 0xff123456u, 0x01000000u})
    EXPECT_EQ(work_of_bits(bad), Work{}) << bad;
}

TEST(Work, CarriesAcrossWords) {
  Work work{{0, 0, ~0ull, ~0ull}};
  work += Work::of(1);
  EXPECT_EQ(work, (Work{{0, 1, 0, 0}}));
  EXPECT_LT(Work::of(~0ull), work);
  work -= Work::of(1);
  EXPECT_EQ(work, (Work{{0, 0, ~0ull, ~0ull}}));
  work -= Work{{0, 0, ~0ull, 1}};
  EXPECT_EQ(work, Work::of(~0ull - 1));
}

class Index : public testing::TestWithParam<chain::Family> {
 protected:
  const bool bitcoin_ = GetParam() == chain::Family::kBitcoin;
  const chain::Network network_ =
      chain::find_network(bitcoin_ ? "bitcoin" : "cardano", "devnet").value();
};

TEST_P(Index, FindsTheBestChainInAnyOrder) {
  DevnetChain devnet({.family = GetParam(), .seed = 5, .reorg_every = 8});
  std::vector<IndexedBlock> blocks;
  blocks.reserve(300);
  for (int i = 0; i < 300; ++i)
    blocks.push_back(read_header(network_, devnet.next().block).value());
  Rng rng(1);
  std::optional<Work> weight;
  for (int round = 0; round < 20; ++round) {
    std::shuffle(blocks.begin(), blocks.end(), rng);
    BlockIndex index(network_);
    for (const IndexedBlock& block : blocks) ASSERT_TRUE(index.add(block));
    ASSERT_FALSE(index.first_waiting());
    const auto& best = index.best();
    for (std::size_t i = 0; i < best.size(); ++i) {
      EXPECT_EQ(index[best[i]].position, i);
      if (i == 0) continue;
      ASSERT_EQ(index[best[i]].prev, index[best[i - 1]].hash);
    }
    for (std::uint32_t id = 0; id < index.size(); ++id)
      EXPECT_FALSE(index[best.back()].weight < index[id].weight);
    if (!weight) weight = index[best.back()].weight;
    EXPECT_EQ(*weight, index[best.back()].weight);
    EXPECT_LT(best.size(), blocks.size()) << "no stale branch in the test";
  }
}

TEST_P(Index, NamesWhatIsMissingAndTakesAnAnchor) {
  DevnetChain devnet({.family = GetParam(), .seed = 5, .reorg_every = 0});
  std::vector<IndexedBlock> blocks;
  blocks.reserve(20);
  for (int i = 0; i < 20; ++i) blocks.push_back(read_header(network_, devnet.next().block).value());
  BlockIndex index(network_);
  for (std::size_t i = 10; i < 20; ++i) ASSERT_TRUE(index.add(blocks[i]));
  ASSERT_TRUE(index.best().empty());
  EXPECT_EQ(index[*index.first_waiting()].prev, blocks[9].hash);
  EXPECT_FALSE(index.anchor({Slot(3), blocks[3].hash}));
  ASSERT_TRUE(index.anchor({Slot(9), blocks[9].hash}));
  EXPECT_FALSE(index.first_waiting());
  EXPECT_EQ(index.best().size(), 11u);
  EXPECT_EQ(index[index.best().back()].number, blocks[19].number + (bitcoin_ ? 19 : 0));
}

TEST_P(Index, BlockOfTheReaderWithinTheSetIsAnAnchorToo) {
  DevnetChain devnet({.family = GetParam(), .seed = 5, .reorg_every = 0});
  std::vector<IndexedBlock> blocks;
  blocks.reserve(20);
  for (int i = 0; i < 20; ++i) blocks.push_back(read_header(network_, devnet.next().block).value());
  BlockIndex index(network_);
  for (std::size_t i = 10; i < 20; ++i) ASSERT_TRUE(index.add(blocks[i]));
  const auto point_of = [&](std::size_t i) {
    return chain::Point{Slot(bitcoin_ ? i : blocks[i].slot), blocks[i].hash};
  };
  if (bitcoin_) {
    EXPECT_FALSE(index.anchor({Slot(4), blocks[15].hash})) << "too few blocks below it";
  }
  ASSERT_TRUE(index.anchor(point_of(15)));
  EXPECT_FALSE(index.first_waiting());
  ASSERT_EQ(index.best().size(), 11u);
  EXPECT_EQ(index[index.best().front()].hash, blocks[9].hash);
  for (std::size_t i = 10; i < 20; ++i) {
    EXPECT_EQ(index[index.best()[i - 9]].number, bitcoin_ ? i : blocks[i].number);
    EXPECT_EQ(index.point(*index.find_on_best(blocks[i].hash)), point_of(i));
  }
}

TEST_P(Index, ForkIsTheNewestSharedBlock) {
  DevnetChain devnet({.family = GetParam(), .seed = 5, .reorg_every = 8});
  BlockIndex index(network_);
  std::vector<Hash256> hashes;
  for (int i = 0; i < 200; ++i) {
    const Emission emission = devnet.next();
    hashes.push_back(emission.hash);
    ASSERT_TRUE(index.add(read_header(network_, emission.block).value()));
  }
  std::size_t stale = 0;
  for (const Hash256& hash : hashes) {
    const auto fork = index.find_fork(hash);
    ASSERT_TRUE(fork);
    ASSERT_TRUE(index.on_best(*fork));
    stale += index[*fork].hash != hash ? 1 : 0;
    // Nothing of the best chain between.
    for (BlockIndex::Id id = *index.find(hash); id != *fork; id = index[id].parent)
      ASSERT_FALSE(index.on_best(id));
  }
  EXPECT_GT(stale, 0u);
  EXPECT_FALSE(index.find_fork(Hash256{}));
}

TEST_P(Index, ForgottenBlocksAreUnknown) {
  DevnetChain devnet({.family = GetParam(), .seed = 6, .reorg_every = 8});
  std::vector<IndexedBlock> blocks;
  blocks.reserve(200);
  for (int i = 0; i < 200; ++i)
    blocks.push_back(read_header(network_, devnet.next().block).value());
  Rng rng(2);
  std::shuffle(blocks.begin(), blocks.end(), rng);
  const auto original = [&](const Hash256& hash) {
    return *std::ranges::find(blocks, hash, &IndexedBlock::hash);
  };
  BlockIndex index(network_);
  for (const IndexedBlock& block : blocks) ASSERT_TRUE(index.add(block));
  for (int round = 0; round < 30; ++round) {
    std::vector<BlockIndex::Id> gone;
    BlockIndex without(network_);
    for (BlockIndex::Id id = 0; id < index.size(); ++id) {
      if (index.find(index[id].hash) != id) continue;  // forgotten in an earlier round
      if (rng.one_in(50)) {
        gone.push_back(id);
      } else {
        ASSERT_TRUE(without.add(original(index[id].hash)));
      }
    }
    index.forget(gone);
    for (const BlockIndex::Id id : gone) EXPECT_FALSE(index.on_best(id));
    const auto hashes = [](const BlockIndex& of) {
      std::vector<Hash256> all;
      for (const BlockIndex::Id id : of.best()) all.push_back(of[id].hash);
      return all;
    };
    ASSERT_EQ(hashes(index), hashes(without));
    if (!index.best().empty()) {
      EXPECT_EQ(index[index.best().back()].weight, without[without.best().back()].weight);
    }
    // Some come again, under another id.
    for (const BlockIndex::Id id : gone) {
      const bool again = rng.one_in(2);
      if (again) {
        ASSERT_TRUE(index.add(original(index[id].hash)));
      }
      EXPECT_EQ(index.current(id) != id, again);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Index,
                         testing::Values(chain::Family::kBitcoin, chain::Family::kCardano),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace coffer::feed
