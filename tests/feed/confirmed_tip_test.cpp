// What a remote source claims once about its tip is not believed.
#include <gtest/gtest.h>

#include <coffer/chain/decode.h>
#include "base/result.h"
#include "base/temp_dir.h"
#include "feed/n2c_source.h"
#include "feed/rpc_source.h"
#include "support/chain_builder.h"
#include "support/fake_bitcoind.h"
#include "support/fake_n2c_peer.h"
#include "support/networks.h"

namespace coffer::test {
namespace {

using chain::Family;

// A block near the tip is not taken for one that no rollback can reach because of one claim (E14).
TEST(ConfirmedTip, OneClaimIsNotBelieved) {
  const TempDir dir;
  ChainBuilder cardano(Family::kCardano);
  cardano.mine(30);
  FakeN2cPeer peer(dir.path() / "node.socket", kDevnet, cardano.blocks());
  peer.script("forward", n2c_fault::tip_number(~0ull), {.times = 1, .after = 5});
  feed::N2cSource by_socket({.socket = peer.socket(), .network_magic = kDevnet.cardano.magic},
                            system_clock());
  ASSERT_TRUE(by_socket.intersect({}));
  bool lied = false;
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(by_socket.next(5'000));
    lied = lied || by_socket.tip_number() == ~0ull;
    EXPECT_LE(by_socket.confirmed_tip().value_or(0), 30u);
  }
  EXPECT_TRUE(lied);
  EXPECT_EQ(by_socket.confirmed_tip(), 30u);

  ChainBuilder bitcoin(Family::kBitcoin);
  bitcoin.mine(20);
  FakeBitcoind node(bitcoin.blocks());
  feed::RpcSource by_rpc(feed::RpcEndpoint::parse(node.url()).value(), kRegtest, system_clock());
  ASSERT_TRUE(by_rpc.intersect({}));
  node.script("getblockchaininfo",
              rpc_fault::result(fmt::format(R"({{"blocks": 5000, "bestblockhash": "{}"}})",
                                            std::string(64, '1'))));
  for (int i = 0; i < 15; ++i) {
    ASSERT_TRUE(by_rpc.next(5'000));
    EXPECT_LE(by_rpc.confirmed_tip().value_or(0), 20u);
  }
  EXPECT_TRUE(node.wait_used());
}

TEST(ConfirmedTip, BitcoinNodeMustHaveTheBlockThatItClaims) {
  ChainBuilder chain(Family::kBitcoin);
  chain.mine(20);
  FakeBitcoind node(chain.blocks());
  node.report_tip(feed::RpcTip{.height = 5'000, .hash = node.tip_hash()});
  feed::RpcSource source(feed::RpcEndpoint::parse(node.url()).value(), kRegtest, system_clock());
  ASSERT_TRUE(source.intersect({}));
  std::size_t blocks = 0;
  while (blocks < 21) {
    const auto step = source.next(5'000);
    ASSERT_TRUE(step) << step.error().message;
    ASSERT_FALSE(std::holds_alternative<feed::Idle>(*step));
    blocks += std::holds_alternative<feed::NextBlock>(*step) ? 1 : 0;
    EXPECT_EQ(source.confirmed_tip(), 0u);
  }
  node.report_tip(std::nullopt);
  ASSERT_TRUE(source.intersect({}));
  EXPECT_EQ(source.confirmed_tip(), 20u);
}

TEST(ConfirmedTip, CardanoNodeHasNoMoreBlocksThanSlots) {
  const TempDir dir;
  ChainBuilder chain(Family::kCardano);
  chain.mine(30);
  FakeN2cPeer peer(dir.path() / "node.socket", kDevnet, chain.blocks());
  peer.report_tip_number(1'000'000);
  feed::N2cSource source({.socket = peer.socket(), .network_magic = kDevnet.cardano.magic},
                         system_clock());
  ASSERT_TRUE(source.intersect({}));
  const Slot tip = chain::decode(kDevnet, chain.blocks().back())->slot;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < chain.blocks().size(); ++i) {
    const auto step = source.next(5'000);
    ASSERT_TRUE(step);
    const auto* forward = std::get_if<feed::NextBlock>(&*step);
    if (forward == nullptr) continue;
    const auto block = chain::decode(kDevnet, forward->raw);
    ASSERT_TRUE(block);
    number = block->number.value;
    EXPECT_LE(source.confirmed_tip().value_or(0), number + (tip.value - block->slot.value));
  }
  EXPECT_GT(number, 0u);
}

}  // namespace
}  // namespace coffer::test
