// Decoding without hashing allocates nothing per transaction.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "chain/decode.h"
#include "feed/devnet_chain.h"

namespace {
std::atomic<std::uint64_t> g_allocations{0};
}

void* operator new(std::size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

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
    const std::uint64_t before = g_allocations;
    ASSERT_TRUE(chain::decode_into(warm, network, big, {.hash = hash, .verify = hash}));
    EXPECT_EQ(g_allocations - before, 0u) << "with hash = " << hash;
  }
  // A new block grows its tables: a few doublings each, however many transactions there are.
  const std::uint64_t before = g_allocations;
  chain::Block fresh;
  ASSERT_TRUE(chain::decode_into(fresh, network, big, {.hash = false, .verify = false}));
  EXPECT_LT(g_allocations - before, 80u);
}

INSTANTIATE_TEST_SUITE_P(Chains, DecodeAllocation, testing::Values("bitcoin", "cardano"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace coffer
