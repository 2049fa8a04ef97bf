// What a source may do wrong, and what the real program does about it (E14): it asks again, says so
// and stays up.
#include <gtest/gtest.h>

#include <fstream>

#include "base/temp_dir.h"
#include "support/chain_builder.h"
#include "support/daemon.h"
#include "support/deep_cbor.h"
#include "support/fake_bitcoind.h"
#include "support/fake_n2c_peer.h"

namespace coffer {
namespace {

using test::Daemon;
using test::FakeBitcoind;
using test::FakeN2cPeer;
using test::Finished;
using test::run;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

class RpcSourceFaults : public testing::Test {
 protected:
  RpcSourceFaults() : chain_(chain::Family::kBitcoin) { chain_.mine(12); }
  std::string data() const { return (dir_.path() / "data").string(); }
  std::vector<std::string> source(const FakeBitcoind& node,
                                  const std::string& network = "regtest") const {
    return {"--network", network, "--source", "rpc:" + node.url()};
  }
  Finished sync(const FakeBitcoind& node, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"sync", "--data", data()};
    for (const auto& list : {source(node), more})
      arguments.insert(arguments.end(), list.begin(), list.end());
    return run(arguments);
  }
  bool reaches(Daemon& daemon, const FakeBitcoind& node) {
    const std::string wanted = reversed(node.tip_hash()).hex();
    return daemon.eventually([&] { return daemon.tip_hash() == wanted; });
  }
  TempDir dir_;
  test::ChainBuilder chain_;
};

TEST_F(RpcSourceFaults, EveryBadAnswerIsRequestedAgain) {
  FakeBitcoind node(chain_.blocks());
  Daemon daemon(data(), source(node));
  ASSERT_TRUE(reaches(daemon, node)) << daemon.log();
  EXPECT_EQ(count(daemon.log(), "source connected"), 1u) << daemon.log();
  EXPECT_NE(daemon.log().find("blocks by JSON-RPC, news by polling"), std::string::npos);
  namespace fault = test::rpc_fault;
  const struct {
    const char* name;
    const char* call;
    test::RpcFault fault;
  } cases[] = {
      {"a corrupt body", "getblock", fault::corrupt()},
      {"no hex", "getblock", fault::bad_hex()},
      {"another block", "getblock", fault::of_block(chain_.blocks()[3])},
      {"JSON that ends early", "getblock", fault::truncated_json()},
      {"an error", "getblock", fault::error(-32603, "boom")},
      {"status 500", "getblockhash", fault::status(500, "oops")},
      {"a cut answer", "getblock", fault::cut()},
      {"an error of the tip", "getblockchaininfo", fault::error(-1, "boom")},
      {"not let in", "getblockchaininfo", fault::status(401)},
      {"forbidden", "getblock", fault::status(403)},
      {"no JSON", "getblockchaininfo", fault::body("<html>busy</html>")},
      {"a result of another type", "getblockhash", fault::result("[1]")},
      {"a closed connection", "getblockchaininfo", fault::close()},
      {"an answer twice", "getblockhash", fault::twice()},
      {"a mempool that is none", "getrawmempool", fault::result("17")},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.name);
    node.script(each.call, each.fault);
    node.extend(chain_.mine(1));
    ASSERT_TRUE(reaches(daemon, node)) << daemon.log();
    EXPECT_TRUE(node.wait_used());
    ASSERT_TRUE(daemon.process().running());
  }
  ASSERT_TRUE(daemon.eventually([&] { return daemon.health("ready") == 200; }))
      << daemon.ready_body();
  EXPECT_GE(count(daemon.log(), "source lost, trying again"), 8u) << daemon.log();
  EXPECT_GE(count(daemon.log(), "source is back"), 8u) << daemon.log();
  EXPECT_EQ(daemon.log().find("secret"), std::string::npos);  // the password
  EXPECT_EQ(daemon.stop(), 0);
}

// Blocks near the tip keep what undoes them, however high a node claims its chain to be.
TEST_F(RpcSourceFaults, LyingTipKeepsRollbacks) {
  FakeBitcoind node(chain_.blocks());
  node.report_tip(feed::RpcTip{.height = 1'000'000, .hash = node.tip_hash()});
  Daemon daemon(data(), source(node));
  ASSERT_TRUE(reaches(daemon, node)) << daemon.log();
  node.report_tip(std::nullopt);
  chain_.go_back_to(9);
  node.reorganize(9, chain_.mine(5));
  ASSERT_TRUE(reaches(daemon, node)) << daemon.log();
  EXPECT_TRUE(daemon.eventually([&] { return daemon.has_caught_up(); })) << daemon.log();
  EXPECT_EQ(daemon.stop(), 0);
}

TEST_F(RpcSourceFaults, RefusedPasswordIsRetried) {
  FakeBitcoind node(chain_.blocks());
  node.script("*", test::rpc_fault::status(401), {.times = test::kAlways});
  Daemon daemon(data(), source(node));
  ASSERT_TRUE(daemon.eventually([&] { return count(daemon.log(), "attempt=2") == 1; }));
  EXPECT_EQ(daemon.health("live"), 200);
  EXPECT_EQ(daemon.health("ready"), 503);
  EXPECT_NE(daemon.ready_body().find("refuses the user and password"), std::string::npos);
  node.clear_script();
  EXPECT_TRUE(reaches(daemon, node)) << daemon.log();
  // A one-shot import says so and ends.
  node.script("*", test::rpc_fault::status(401), {.times = test::kAlways});
  node.extend(chain_.mine(1));
  EXPECT_EQ(daemon.stop(), 0);
  const Finished ended = sync(node);
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_NE(ended.err.find("refuses the user and password"), std::string::npos) << ended.err;
}

TEST_F(RpcSourceFaults, AnotherNetworkHaltsTheFollowerAlone) {
  FakeBitcoind node(chain_.blocks());
  Daemon daemon(data(), source(node, "signet"));
  ASSERT_TRUE(daemon.eventually([&] { return count(daemon.log(), "following has stopped") == 1; }))
      << daemon.log();
  EXPECT_EQ(node.asked("getblockhash"), 3u);  // once each time it was met
  EXPECT_EQ(daemon.health("live"), 200);
  EXPECT_NE(daemon.ready_body().find("that of bitcoin regtest"), std::string::npos)
      << daemon.ready_body();
  EXPECT_EQ(daemon.stop(), 0);
  EXPECT_EQ(sync(node).exit_code, 0);  // nothing was bound
}

TEST_F(RpcSourceFaults, PrunedBlockIsNamedWithoutHotLoop) {
  FakeBitcoind node(chain_.blocks());
  node.prune_below(8);
  {
    Daemon daemon(data(), source(node));
    ASSERT_TRUE(daemon.eventually([&] { return count(daemon.log(), "attempt=4") == 1; }))
        << daemon.log();
    EXPECT_NE(daemon.ready_body().find("no longer has block 0"), std::string::npos)
        << daemon.ready_body();
    EXPECT_NE(daemon.ready_body().find("file: or blkdir:"), std::string::npos);
    EXPECT_LE(node.asked("getblock"), 4u * 8u);  // four workers, four attempts
    EXPECT_EQ(daemon.stop(), 0);
  }
  const Finished ended = sync(node);
  EXPECT_EQ(ended.exit_code, 3) << ended.err;
  EXPECT_NE(ended.err.find("no longer has block 0"), std::string::npos) << ended.err;
}

TEST_F(RpcSourceFaults, RescanOfPrunedBlocksFailsNamingTheHeight) {
  FakeBitcoind node(chain_.blocks());
  ASSERT_EQ(run({"wallet", "create", "shop", "--network", "regtest", "--data", data()}).exit_code,
            0);
  const Finished imported =
      run({"wallet", "import", "script", "shop", "0014" + std::string(40, 'a'), "--data", data()});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  ASSERT_EQ(sync(node).exit_code, 0);
  node.prune_below(8);
  const Finished rescan = run({"wallet", "rescan", "shop", "--from", "3", "--data", data(),
                               "--network", "regtest", "--source", "rpc:" + node.url()});
  EXPECT_EQ(rescan.exit_code, 3) << rescan.err;
  EXPECT_NE(rescan.err.find("no longer has block 3"), std::string::npos) << rescan.err;
  // The daemon tries again now and then, says so once, and stops when it is told.
  Daemon daemon(data(), source(node));
  ASSERT_TRUE(daemon.eventually([&] { return count(daemon.log(), "rescan failed") == 1; }))
      << daemon.log();
  EXPECT_NE(daemon.log().find("no longer has block 3"), std::string::npos);
  EXPECT_EQ(daemon.stop(), 0);
}

TEST_F(RpcSourceFaults, RescanFromAHungNodeStopsWithTheDaemon) {
  FakeBitcoind node(chain_.blocks());
  ASSERT_EQ(run({"wallet", "create", "shop", "--network", "regtest", "--data", data()}).exit_code,
            0);
  ASSERT_EQ(
      run({"wallet", "import", "script", "shop", "0014" + std::string(40, 'a'), "--data", data()})
          .exit_code,
      0);
  ASSERT_EQ(sync(node).exit_code, 0);
  Daemon daemon(data(), source(node));
  ASSERT_TRUE(daemon.eventually([&] { return daemon.health("ready") == 200; }));
  node.script("getblock", test::rpc_fault::hang(), {.times = test::kAlways});
  const std::size_t before = node.asked("getblock");
  const Finished asked = run({"wallet", "rescan", "shop", "--from", "0", "--data", data()});
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  ASSERT_TRUE(node.wait_asked("getblock", before + 1));
  EXPECT_EQ(daemon.stop(10'000), 0);  // the call's own limit is 30 s
}

TEST_F(RpcSourceFaults, LoweredTipIsKeptButNotReady) {
  FakeBitcoind node(chain_.blocks());
  Daemon daemon(data(), source(node));
  ASSERT_TRUE(reaches(daemon, node));
  ASSERT_TRUE(daemon.eventually([&] { return daemon.health("ready") == 200; }));
  node.invalidate_tip();
  ASSERT_TRUE(daemon.eventually([&] { return daemon.health("ready") == 503; }));
  EXPECT_NE(daemon.ready_body().find("the source is at block 11, below block 12 here"),
            std::string::npos)
      << daemon.ready_body();
  EXPECT_EQ(daemon.tip(), 12u);
  chain_.go_back_to(11);
  node.reorganize(11, chain_.mine(2));
  ASSERT_TRUE(reaches(daemon, node)) << daemon.log();
  EXPECT_TRUE(daemon.eventually([&] { return daemon.health("ready") == 200; }))
      << daemon.ready_body();
}

TEST_F(RpcSourceFaults, WithheldBlockCausesNoHotLoop) {
  FakeBitcoind node(chain_.blocks());
  Daemon daemon(data(), source(node));
  ASSERT_TRUE(reaches(daemon, node));
  Hash256 nowhere{};
  nowhere.fill(3);
  node.report_tip(feed::RpcTip{999, nowhere});
  const std::size_t before = node.asked("getblockhash");
  ASSERT_TRUE(daemon.eventually([&] { return count(daemon.log(), "attempt=1") == 1; }))
      << daemon.log();
  EXPECT_NE(daemon.log().find("the node is at block 999 but does not give block 13"),
            std::string::npos)
      << daemon.log();
  EXPECT_LE(node.asked("getblockhash") - before, 100u);  // three polls, a few workers each
  EXPECT_EQ(daemon.health("ready"), 503);
  node.report_tip(std::nullopt);
  node.extend(chain_.mine(1));
  EXPECT_TRUE(reaches(daemon, node)) << daemon.log();
}

class SyncTo : public RpcSourceFaults {
 protected:
  // The heights that status shows: the chain's and the consumers'.
  std::vector<std::uint64_t> heights() const {
    const auto status =
        boost::json::parse(run({"status", "--json", "--data", data()}).out).as_object();
    std::vector<std::uint64_t> found = {status.at("tip").at("number").to_number<std::uint64_t>()};
    for (const auto& each : status.at("consumers").as_array())
      found.push_back(each.at("tip").at("number").to_number<std::uint64_t>());
    return found;
  }
  static bool all(const std::vector<std::uint64_t>& heights, std::uint64_t height) {
    return std::all_of(heights.begin(), heights.end(), [&](auto h) { return h == height; });
  }
};

TEST_F(SyncTo, ReachedHeightChangesNothing) {
  FakeBitcoind node(chain_.blocks());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(sync(node, {"--to", "5"}).exit_code, 0);
    EXPECT_TRUE(all(heights(), 5));
  }
  ASSERT_EQ(sync(node, {"--to", "2"}).exit_code, 0);
  EXPECT_TRUE(all(heights(), 5));
  ASSERT_EQ(sync(node, {"--to", "9223372036854775808"}).exit_code, 0);
  EXPECT_TRUE(all(heights(), 12));
  EXPECT_EQ(sync(node, {"--to", "9223372036854775809"}).exit_code, 2);
}

TEST_F(SyncTo, EveryConsumerReachesTheBlock) {
  FakeBitcoind node(chain_.blocks());
  ASSERT_EQ(sync(node, {"--to", "9"}).exit_code, 0);
  ASSERT_EQ(run({"rebuild", "totals", "--data", data()}).exit_code, 0);
  ASSERT_EQ(run({"utxo", "rebuild", "--data", data()}).exit_code, 0);
  ASSERT_EQ(sync(node, {"--to", "7"}).exit_code, 0);
  const auto after = heights();
  EXPECT_EQ(*std::min_element(after.begin(), after.end()), 7u);
  EXPECT_EQ(after.front(), 9u);
  ASSERT_EQ(sync(node, {"--to", "9"}).exit_code, 0);
  EXPECT_TRUE(all(heights(), 9));
}

class N2cSourceFaults : public testing::Test {
 protected:
  N2cSourceFaults() : chain_(chain::Family::kCardano) {
    chain_.mine(12);
    std::filesystem::create_directories(dir_.path() / "genesis");
    std::ofstream(dir_.path() / "genesis/shelley-genesis.json")
        << R"({"networkMagic": 42, "systemStart": "2024-01-02T03:04:05Z", "slotLength": 1,)"
           R"( "epochLength": 500, "initialFunds": {}})";
  }
  std::string data() const { return (dir_.path() / "data").string(); }
  std::string socket() const { return (dir_.path() / "node.socket").string(); }
  std::vector<std::string> source() const {
    return {"--chain",  "cardano",        "--network",
            "mine",     "--genesis",      (dir_.path() / "genesis").string(),
            "--source", "n2c:" + socket()};
  }
  bool reaches(Daemon& daemon, const Hash256& hash) {
    return daemon.eventually([&] { return daemon.tip_hash() == hash.hex(); });
  }
  const chain::Network network_ = chain::find_network("cardano", "devnet").value();
  TempDir dir_;
  test::ChainBuilder chain_;
};

TEST_F(N2cSourceFaults, EveryBadAnswerIsRequestedAgain) {
  FakeN2cPeer peer(socket(), network_, chain_.blocks());
  Daemon daemon(data(), source());
  ASSERT_TRUE(reaches(daemon, chain_.hashes().back())) << daemon.log();
  namespace fault = test::n2c_fault;
  Hash256 nowhere{};
  nowhere.fill(9);
  const struct {
    const char* name;
    const char* call;
    test::N2cFault fault;
  } cases[] = {
      {"a corrupt block", "forward", fault::corrupt_block()},
      {"a block that follows nothing", "forward", fault::wrong_prev()},
      {"another era", "forward", fault::wrong_era()},
      {"another block", "forward", fault::other_block(chain_.blocks()[3])},
      {"no CBOR", "forward", fault::message({0xff, 0x00})},
      {"an unknown message", "forward", fault::message({0x81, 0x17})},
      {"another protocol", "forward", fault::protocol(7)},
      {"the wrong direction", "forward", fault::wrong_direction()},
      {"segments of one byte", "forward", fault::split(1)},
      {"empty segments", "forward", fault::empty_segments(1'000)},
      {"a cut message", "forward", fault::cut()},
      {"a closed connection", "forward", fault::close()},
      {"a block twice", "forward", fault::twice()},
      {"back to nowhere", "forward", fault::roll_back_to({Slot(5), nowhere})},
      {"a lying tip", "forward", fault::tip_number(~0ull)},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.name);
    peer.script(each.call, each.fault);
    peer.extend(chain_.mine(1));
    ASSERT_TRUE(peer.wait_used());
    peer.extend(chain_.mine(1));
    ASSERT_TRUE(reaches(daemon, chain_.hashes().back())) << daemon.log();
    ASSERT_TRUE(daemon.process().running());
  }
  EXPECT_GE(count(daemon.log(), "source is back"), 5u) << daemon.log();
  EXPECT_EQ(daemon.stop(), 0);
}

TEST_F(N2cSourceFaults, NodeWithoutBlocksIsWaitedFor) {
  FakeN2cPeer peer(socket(), network_, chain_.blocks());
  Daemon daemon(data(), source());
  ASSERT_TRUE(reaches(daemon, chain_.hashes().back()));
  // As a node answers whose database was wiped, until it has blocks again.
  peer.script("intersect",
              [](test::N2cReply& reply) {
                reply.kind = test::N2cReply::Kind::kNotFound;
                reply.tip = {};
              },
              {.times = 4});
  peer.close_connections();
  ASSERT_TRUE(peer.wait_used(60'000)) << daemon.log();
  EXPECT_NE(daemon.log().find("has no block yet"), std::string::npos) << daemon.log();
  peer.extend(chain_.mine(1));
  EXPECT_TRUE(reaches(daemon, chain_.hashes().back())) << daemon.log();
}

TEST_F(N2cSourceFaults, BlocksOfAnyDepthAreFollowed) {  // E12
  std::vector<Bytes> blocks;
  Hash256 prev{};
  for (const std::size_t depth : test::kDepths)
    for (const test::DeepCase& deep : test::deep_cases(depth)) {
      const auto block = test::build(
          {.number = blocks.size(), .slot = 20 * blocks.size(), .prev = prev, .txs = {deep.tx}});
      blocks.push_back(block.raw);
      prev = block.hash;
    }
  FakeN2cPeer peer(socket(), network_, blocks);
  for (const char* store : {"classic", "mmr"}) {
    std::vector<std::string> arguments = {"sync", "--data", data() + store, "--utxo-store", store};
    for (const std::string& each : source()) arguments.push_back(each);
    const Finished synced = run(arguments);
    EXPECT_EQ(synced.exit_code, 0) << synced.err;
    const auto stats =
        boost::json::parse(run({"utxo", "stats", "--json", "--data", data() + store}).out);
    EXPECT_EQ(stats.at("block").to_number<std::uint64_t>(), blocks.size() - 1);
  }
}

}  // namespace
}  // namespace coffer
