// The fake bitcoind and the fake node-to-client peer are themselves right: the real sources follow
// them while they are honest, and every scripted fault reaches the client as it is meant.
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

// What a source's reader ends with.
struct Reader {
  explicit Reader(chain::Network of) : network(std::move(of)) {}

  // Takes steps until the chain and the mempool are these; false after 60 seconds.
  bool reaches(feed::Source& source, const std::vector<Hash256>& wanted,
               const std::set<Hash256>& wanted_mempool = {}) {
    const std::int64_t deadline_ms = system_clock().steady_ms() + 60'000;
    while (hashes != wanted || mempool != wanted_mempool) {
      if (system_clock().steady_ms() > deadline_ms) return false;
      auto step = source.next(100);
      EXPECT_TRUE(step) << step.error().message;
      if (!step) return false;
      take(std::move(*step));
    }
    return true;
  }

  void take(feed::SourceEvent step) {
    if (auto* forward = std::get_if<feed::NextBlock>(&step)) {
      const auto block = chain::decode(network, std::move(forward->raw));
      ASSERT_TRUE(block) << block.error().message;
      ASSERT_EQ(block->prev, hashes.empty() ? Hash256{} : hashes.back());
      hashes.push_back(block->hash);
      for (const chain::Tx& tx : block->txs) mempool.erase(tx.id);
    } else if (auto* back = std::get_if<feed::RolledBack>(&step)) {
      while (!hashes.empty() && hashes.back() != back->to.hash) hashes.pop_back();
      ++backwards;
    } else if (auto* seen = std::get_if<feed::MempoolAdded>(&step)) {
      chain::Block tx;
      ASSERT_TRUE(chain::decode_tx_into(tx, network, seen->raw));
      mempool.insert(tx.txs.front().id);
    } else if (auto* dropped = std::get_if<feed::MempoolRemoved>(&step)) {
      mempool.erase(dropped->id);
    }
  }

  const chain::Network network;
  std::vector<Hash256> hashes;
  std::set<Hash256> mempool;
  int backwards = 0;
};

feed::RpcOptions quick() {
  feed::RpcOptions options;
  options.poll_ms = 10;
  return options;
}

feed::RpcSource source_of(const FakeBitcoind& node) {
  return feed::RpcSource(feed::RpcEndpoint::parse(node.url()).value(), kRegtest, system_clock(),
                         quick());
}

feed::RpcClient client_of(const FakeBitcoind& node, int timeout_ms = 30'000) {
  return feed::RpcClient(feed::RpcEndpoint::parse(node.url()).value(), timeout_ms);
}

feed::DevTxPtr payment(const feed::DevCoin& coin) {
  feed::TxPlan plan;
  plan.inputs = {coin};
  plan.outputs = {feed::DevCoin{.value = coin.value - 1'000, .owner = 1, .kind = coin.kind}};
  plan.fee = 1'000;
  Rng rng(1);
  return std::make_shared<const feed::DevTx>(feed::make_bitcoin_flavour()->build(plan, rng));
}

TEST(FakeBitcoind, HonestNodeIsFollowedThroughBlocksAReorgAndTheMempool) {
  for (const bool rest : {false, true}) {
    SCOPED_TRACE(rest ? "REST" : "JSON-RPC");
    ChainBuilder chain(Family::kBitcoin);
    chain.mine(50);
    FakeBitcoind node(chain.blocks(), {.rest = rest});
    feed::RpcSource source = source_of(node);
    Reader reader(kRegtest);
    ASSERT_TRUE(reader.reaches(source, chain.hashes()));
    EXPECT_EQ(node.asked("rest block"), rest ? 51u : 0u);
    EXPECT_EQ(node.asked("getblock"), rest ? 0u : 51u);

    const feed::DevTxPtr first = payment(chain.coin_of(1)), second = payment(chain.coin_of(2));
    node.add_to_mempool(first->id, first->wire);
    ASSERT_EQ(source.broadcast(second->wire).value(), second->id);
    ASSERT_TRUE(reader.reaches(source, chain.hashes(), {first->id, second->id}));
    node.remove_from_mempool(second->id);
    ASSERT_TRUE(reader.reaches(source, chain.hashes(), {first->id}));

    chain.go_back_to(45);
    node.reorganize(45, chain.mine(6, {first}));
    ASSERT_TRUE(reader.reaches(source, chain.hashes()));
    EXPECT_EQ(reader.backwards, 1);
    EXPECT_EQ(node.mempool().size(), 0u);
    node.extend(chain.mine(3));
    ASSERT_TRUE(reader.reaches(source, chain.hashes()));
    EXPECT_EQ(node.faults(), 0u);
  }
}

TEST(FakeBitcoind, SimulatedTrafficIsFollowed) {
  feed::DevnetChain devnet({.seed = 3, .reorg_every = 10});
  FakeBitcoind node({devnet.next().block});
  feed::RpcSource source = source_of(node);
  Reader reader(kRegtest);
  for (int i = 0; i < 150; ++i) {
    node.apply(devnet.next());
    if (i % 15 != 14) continue;
    ASSERT_TRUE(reader.reaches(source, devnet.best(), node.mempool())) << i;
  }
  EXPECT_GT(reader.backwards, 0);
}

TEST(FakeBitcoind, FaultsReachTheClientAndEnd) {
  ChainBuilder chain(Family::kBitcoin);
  chain.mine(5);
  FakeBitcoind node(chain.blocks());
  feed::RpcClient client = client_of(node, 2'000);
  const auto& hashes = chain.hashes();
  struct Case {
    const char* name;
    RpcFault fault;
    Code code;
  };
  const Case cases[] = {
      {"status 500", rpc_fault::status(500), Code::kUnavailable},
      {"status 401", rpc_fault::status(401), Code::kUnauthorized},
      {"status 403", rpc_fault::status(403), Code::kUnauthorized},
      {"error", rpc_fault::error(-1, "boom"), Code::kNotFound},
      {"warming up", rpc_fault::error(-28, "Loading block index…"), Code::kUnavailable},
      {"not JSON", rpc_fault::body("hello"), Code::kCorrupt},
      {"truncated JSON", rpc_fault::truncated_json(), Code::kCorrupt},
      {"another block", rpc_fault::of_block(chain.blocks()[2]), Code::kCorrupt},
      {"bad hex", rpc_fault::bad_hex(), Code::kCorrupt},
      {"a number", rpc_fault::result("7"), Code::kCorrupt},
      {"cut", rpc_fault::cut(), Code::kUnavailable},
      {"close", rpc_fault::close(), Code::kUnavailable},
      {"hang", rpc_fault::hang(), Code::kUnavailable},
  };
  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.name);
    // A connection that closes before any answer is opened anew once by the client itself.
    node.script("getblock", wrong.fault, {.times = wrong.name == std::string("close") ? 2u : 1u});
    const auto bad = client.block(hashes[3]);
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, wrong.code) << bad.error().message;
    const auto good = client.block(hashes[3]);
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_EQ(*good, chain.blocks()[3]);
  }
  EXPECT_TRUE(node.wait_used(0));
  EXPECT_EQ(node.faults(), std::size(cases) + 1);

  // Faults that the client does not see as errors.
  node.script("getblock", rpc_fault::corrupt());
  const auto corrupt = client.block(hashes[3]);
  ASSERT_TRUE(corrupt) << "the header is intact, so only decoding finds it";
  EXPECT_NE(*corrupt, chain.blocks()[3]);
  EXPECT_FALSE(chain::decode(kRegtest, *corrupt));
  node.script("getblock", rpc_fault::late(50));
  EXPECT_EQ(client.block(hashes[3]).value(), chain.blocks()[3]);
}

TEST(FakeBitcoind, FaultsAreForTheCallsThatTheyName) {
  ChainBuilder chain(Family::kBitcoin);
  chain.mine(5);
  FakeBitcoind node(chain.blocks());
  feed::RpcClient client = client_of(node);
  node.script(
      "getblock", rpc_fault::status(500),
      {.times = 2, .after = 1, .about = chain::display(Family::kBitcoin, chain.hashes()[3])});
  EXPECT_TRUE(client.block(chain.hashes()[2]));
  EXPECT_TRUE(client.block(chain.hashes()[3]));
  EXPECT_TRUE(client.tip());
  EXPECT_FALSE(client.block(chain.hashes()[3]));
  EXPECT_TRUE(client.block(chain.hashes()[2]));
  EXPECT_FALSE(client.block(chain.hashes()[3]));
  EXPECT_TRUE(client.block(chain.hashes()[3]));
  node.script("*", rpc_fault::status(403), {.times = kAlways});
  EXPECT_FALSE(client.tip());
  EXPECT_FALSE(client.block_hash(0));
  node.clear_script();
  EXPECT_TRUE(client.tip());
  EXPECT_EQ(node.asked("getblock"), 6u);
}

TEST(FakeBitcoind, ChainsThatShrinkArePrunedOrAreLiedAbout) {
  ChainBuilder chain(Family::kBitcoin);
  chain.mine(30);
  for (const bool rest : {false, true}) {
    FakeBitcoind node(chain.blocks(), {.rest = rest});
    feed::RpcClient client = client_of(node);
    node.invalidate_tip();
    EXPECT_EQ(client.tip().value(), (feed::RpcTip{29, chain.hashes()[29]}));
    EXPECT_EQ(client.block_hash(30).value(), std::nullopt);
    EXPECT_TRUE(client.block(chain.hashes()[30])) << "a stale block is still there";
    node.prune_below(10);
    const auto pruned = client.block(chain.hashes()[9]);
    ASSERT_FALSE(pruned);
    EXPECT_NE(pruned.error().message.find("Block not available (pruned data)"), std::string::npos);
    EXPECT_TRUE(client.block(chain.hashes()[10]));
    const feed::RpcTip lie{.height = 999, .hash = chain.hashes()[4]};
    node.report_tip(lie);
    EXPECT_EQ(client.tip().value(), lie);
    node.report_tip(std::nullopt);
    EXPECT_EQ(client.tip().value().height, 29u);
    feed::RestClient by_rest(feed::RpcEndpoint::parse(node.url()).value(), 30'000);
    EXPECT_EQ(by_rest.offers(), rest);
    EXPECT_EQ(by_rest.block(chain.hashes()[10]).has_value(), rest);
    EXPECT_FALSE(by_rest.block(chain.hashes()[9]));
  }
}

TEST(FakeBitcoind, RefusesConnectionsAndComesBackAtTheSameAddress) {
  ChainBuilder chain(Family::kBitcoin);
  FakeBitcoind node(chain.blocks());
  feed::RpcClient client = client_of(node);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(client.tip());
    node.refuse_connections(true);
    EXPECT_EQ(client.tip().error().code, Code::kUnavailable);
    EXPECT_EQ(client.tip().error().code, Code::kUnavailable);
    node.refuse_connections(false);
  }
  EXPECT_TRUE(client.tip());
  feed::RpcClient stranger(
      feed::RpcEndpoint::parse(fmt::format("http://user:wrong@127.0.0.1:{}", node.port())).value());
  EXPECT_EQ(stranger.tip().error().code, Code::kUnauthorized);
}

class FakeN2c : public testing::Test {
 protected:
  FakeN2c() { chain_.mine(50); }
  feed::N2cSource source(std::uint64_t magic = kDevnet.cardano.magic) {
    return feed::N2cSource(
        {.socket = peer_.socket(), .network_magic = magic, .answer_timeout_ms = 2'000},
        system_clock());
  }
  TempDir dir_;
  ChainBuilder chain_{Family::kCardano};
  FakeN2cPeer peer_{dir_.path() / "node.socket", kDevnet, {}};
};

TEST_F(FakeN2c, HonestPeerIsFollowedThroughBlocksAndAReorg) {
  peer_.extend(chain_.blocks());
  feed::N2cSource n2c = source();
  ASSERT_TRUE(n2c.intersect({}).value().is_origin());
  Reader reader(kDevnet);
  ASSERT_TRUE(reader.reaches(n2c, chain_.hashes()));
  EXPECT_EQ(n2c.tip_number(), 50u);
  // The source waits, and is told.
  ASSERT_TRUE(std::holds_alternative<feed::Idle>(n2c.next(10).value()));
  ASSERT_TRUE(peer_.wait_asked("await", 1));
  peer_.extend(chain_.mine(2));
  ASSERT_TRUE(reader.reaches(n2c, chain_.hashes()));
  chain_.go_back_to(44);
  peer_.reorganize(44, chain_.mine(12));
  ASSERT_TRUE(reader.reaches(n2c, chain_.hashes()));
  EXPECT_EQ(reader.backwards, 2);  // the first confirms the intersection
  // It goes on where the reader says.
  const chain::Point points[] = {{Slot(1), Hash256::from(Bytes(32, 7).data())},
                                 {Slot(40 * feed::kDevnetSlotsPerBlock), chain_.hashes()[40]}};
  EXPECT_EQ(n2c.intersect(points).value(), points[1]);
  reader.hashes.resize(41);
  ASSERT_TRUE(reader.reaches(n2c, chain_.hashes()));
  EXPECT_EQ(peer_.asked("handshake"), 2u);
  EXPECT_EQ(peer_.faults(), 0u);
}

TEST_F(FakeN2c, OddButRightSegmentsAreFollowed) {
  peer_.extend(chain_.blocks());
  peer_.script("handshake", n2c_fault::split(1));
  peer_.script("intersect", n2c_fault::split(3));
  peer_.script("forward", n2c_fault::empty_segments(20), {.times = 10});
  peer_.script("forward", n2c_fault::split(1), {.times = 10});
  peer_.script("forward", n2c_fault::late(20), {.times = 2});
  peer_.script("forward", n2c_fault::split(65'535), {.times = 5});
  feed::N2cSource n2c = source();
  ASSERT_TRUE(n2c.intersect({}));
  Reader reader(kDevnet);
  ASSERT_TRUE(reader.reaches(n2c, chain_.hashes()));
  EXPECT_TRUE(peer_.wait_used(0));
}

TEST_F(FakeN2c, FaultsReachTheClientAndEnd) {
  peer_.extend(chain_.blocks());
  struct Case {
    const char *name, *call;
    N2cFault fault;
    Code code;
  };
  const Case cases[] = {
      {"refused", "handshake", n2c_fault::refuse("not now"), Code::kInvalidInput},
      {"not CBOR", "forward", n2c_fault::message({0x1c}), Code::kInvalidInput},
      {"unknown protocol", "forward", n2c_fault::protocol(9), Code::kInvalidInput},
      {"direction", "intersect", n2c_fault::wrong_direction(), Code::kInvalidInput},
      {"cut", "forward", n2c_fault::cut(), Code::kUnavailable},
      {"close", "forward", n2c_fault::close(), Code::kUnavailable},
      {"hang", "intersect", n2c_fault::hang(), Code::kUnavailable},
  };
  for (const Case& wrong : cases) {
    SCOPED_TRACE(wrong.name);
    peer_.script(wrong.call, wrong.fault,
                 {.after = wrong.call == std::string("forward") ? 5u : 0u});
    feed::N2cSource n2c = source();
    Result<> end = {};
    for (int i = 0; i < 100 && end; ++i) {
      if (i == 0) {
        if (auto met = n2c.intersect({}); !met) end = fail(met.error());
      } else if (auto step = n2c.next(5'000); !step) {
        end = fail(step.error());
      }
    }
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, wrong.code) << end.error().message;
    ASSERT_TRUE(n2c.intersect({}));
    Reader reader(kDevnet);
    ASSERT_TRUE(reader.reaches(n2c, chain_.hashes()));
  }
  EXPECT_FALSE(source(99).intersect({})) << "another network's magic";
}

TEST_F(FakeN2c, BlocksThatAreWrongComeOnce) {
  peer_.extend(chain_.blocks());
  const Hash256 hash = chain_.hashes()[20];
  const Bytes& honest = chain_.blocks()[20];
  const Bytes& other = chain_.blocks()[30];
  const chain::Point nowhere{Slot(7), Hash256::from(Bytes(32, 9).data())};
  for (const N2cFault& fault : {n2c_fault::corrupt_block(), n2c_fault::wrong_prev(),
                                n2c_fault::wrong_era(), n2c_fault::other_block(other)}) {
    feed::N2cSource n2c = source();
    const chain::Point before{Slot(19 * feed::kDevnetSlotsPerBlock), chain_.hashes()[19]};
    for (const bool wrong : {true, false}) {
      if (wrong) peer_.script("forward", fault, {.about = hash.hex()});
      ASSERT_EQ(n2c.intersect(std::span(&before, 1)).value(), before);
      ASSERT_TRUE(std::holds_alternative<feed::RolledBack>(n2c.next(5'000).value()));
      const Bytes raw = std::get<feed::NextBlock>(n2c.next(5'000).value()).raw;
      EXPECT_EQ(raw == honest, !wrong);
      const auto decoded = chain::decode(kDevnet, raw);
      EXPECT_EQ(decoded && decoded->prev == before.hash, !wrong);
    }
  }
  peer_.script("forward", n2c_fault::roll_back_to(nowhere), {.about = hash.hex()});
  peer_.script("forward", n2c_fault::twice(), {.about = chain_.hashes()[21].hex()});
  peer_.report_tip_number(~0ull);
  feed::N2cSource n2c = source();
  ASSERT_TRUE(n2c.intersect({}));
  EXPECT_EQ(n2c.tip_number(), ~0ull);
  std::vector<Bytes> blocks;
  bool went_nowhere = false;
  while (blocks.size() < 23) {
    feed::SourceEvent step = n2c.next(5'000).value();
    if (auto* forward = std::get_if<feed::NextBlock>(&step)) blocks.push_back(forward->raw);
    if (auto* back = std::get_if<feed::RolledBack>(&step)) went_nowhere |= back->to == nowhere;
  }
  EXPECT_TRUE(went_nowhere);
  EXPECT_EQ(blocks[20], honest) << "the block that was due comes after it";
  EXPECT_EQ(blocks[22], blocks[21]);
}

}  // namespace
}  // namespace coffer::test
