// Decoding without hashing allocates nothing per transaction.
#include <gtest/gtest.h>

#include <coffer/chain/decode.h>
#include "feed/devnet_chain.h"
#include "memory/allocations.h"

namespace coffer {
namespace {

class DecodeAllocation : public testing::TestWithParam<const char*> {};

TEST_P(DecodeAllocation, IsNothingPerTransaction) {
  const chain::Network network = chain::find_network(GetParam(), "devnet").value();
  feed::DevnetChain devnet(
      {.family = network.family, .seed = 1, .txs_per_block = 400, .reorg_every = 0});
  Bytes big;
  for (int i = 0; i < 160; ++i) {
    Bytes block = devnet.next().block;
    if (block.size() > big.size()) big = std::move(block);
  }
  chain::Block warm;
  ASSERT_TRUE(chain::decode_into(warm, network, big));
  ASSERT_GT(warm.txs.size(), 300u);
  for (const bool hash : {false, true}) {
    const std::uint64_t before = test::allocations.count;
    ASSERT_TRUE(chain::decode_into(warm, network, big, {.hash = hash, .verify = hash}));
    EXPECT_EQ(test::allocations.count - before, 0u) << "with hash = " << hash;
  }
  // A new block grows its tables: a few doublings each, however many transactions there are.
  const std::uint64_t before = test::allocations.count;
  chain::Block fresh;
  ASSERT_TRUE(chain::decode_into(fresh, network, big, {.hash = false, .verify = false}));
  EXPECT_LT(test::allocations.count - before, 80u);
}

INSTANTIATE_TEST_SUITE_P(Chains, DecodeAllocation, testing::Values("bitcoin", "cardano"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace coffer
