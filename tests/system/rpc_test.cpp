// A real Bitcoin node is followed by JSON-RPC: mining, mempool, reorgs, restarts.
#include <fstream>
#include <thread>

#include "base/temp_dir.h"
#include "http/test_util.h"
#include "support/rpc_fixture.h"

namespace coffer::feed {
namespace {

TEST_F(Rpc, CatchesUpAndFollowsReorgsOfOneThreeAndThirtyBlocks) {
  std::vector<Hash256> branch = {kRegtest.genesis};
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, 0, 120, 0));
  auto from = source();
  EXPECT_EQ(from->intersect({}).value(), chain::Point::origin());
  ASSERT_TRUE(follow(*from));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  EXPECT_EQ(from->tip_number(), 120u);
  int reorgs = 0;
  for (const std::uint64_t depth : {1, 3, 30}) {
    const std::uint64_t tip = branch.size() - 1;
    // As long as the old branch: the node stays, and so do we.
    ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, tip - depth, depth, depth));
    ASSERT_TRUE(follow(*from));
    EXPECT_EQ(backwards_, reorgs);
    ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
    ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, tip, 1, depth));
    ASSERT_TRUE(follow(*from));
    EXPECT_EQ(backwards_, ++reorgs);
    EXPECT_EQ(chain_, branch);
    ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  }
  // Going on from a block of the chain; one that is not at its height is passed over.
  const std::vector<chain::Point> from_here = {{Slot(119), branch[3]}, {Slot(80), chain_[80]}};
  EXPECT_EQ(from->intersect(from_here).value(), from_here[1]);
  chain_.resize(81);
  ASSERT_TRUE(follow(*from));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
}

TEST_F(Rpc, FollowsReorgsMadeWithASecondNode) {
  test::BitcoinNode other;
  ASSERT_NO_FATAL_FAILURE(other.start());
  std::vector<Hash256> common = {kRegtest.genesis};
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(common, 0, 40, 0));
  ASSERT_NO_FATAL_FAILURE(other.copy(node_, 1));
  auto from = source();
  int reorgs = 0;
  for (const std::uint64_t depth : {1, 3, 30}) {
    SCOPED_TRACE(depth);
    ASSERT_NO_FATAL_FAILURE(test::reorganise(node_, other, depth, [&] {
      ASSERT_TRUE(follow(*from));
      ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
      EXPECT_EQ(backwards_, reorgs);
    }));
    ASSERT_TRUE(follow(*from));
    ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
    EXPECT_EQ(backwards_, ++reorgs);
  }
}

TEST_F(Rpc, ReportsMempoolAndBroadcasts) {
  DevnetChain devnet({.seed = 77, .txs_per_block = 6, .reorg_every = 0});
  auto from = source();
  devnet.next();  // the node has its genesis block
  for (int i = 0; i < 125; ++i) {
    const Emission emission = devnet.next();
    for (const MempoolEvent& event : emission.before)
      if (event.seen) {
        auto id = from->broadcast(event.seen->wire);
        ASSERT_TRUE(id) << id.error().message;
        EXPECT_EQ(*id, event.seen->id);
      }
    if (i > 101) {
      ASSERT_TRUE(follow(*from));
    }
    if (i > 101 && i % 5 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
    }
    ASSERT_NO_FATAL_FAILURE(node_.submit(emission.block));
  }
  ASSERT_TRUE(follow(*from));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  EXPECT_GT(seen_, 20);
  EXPECT_GT(dropped_, 0);
  EXPECT_EQ(from->broadcast(Bytes{1, 2, 3}).error().code, Code::kInvalidInput);
}

TEST_F(Rpc, SurvivesARestartOfTheNode) {
  std::vector<Hash256> branch = {kRegtest.genesis};
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, 0, 20, 0));
  auto from = source();
  ASSERT_TRUE(follow(*from));
  node_.kill();
  auto lost = follow(*from);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kUnavailable);
  EXPECT_TRUE(lost.error().retryable);
  EXPECT_EQ(from->intersect(points()).error().code, Code::kUnavailable);
  // It comes back with the first half of its chain, and then goes another way.
  ASSERT_NO_FATAL_FAILURE(node_.start());
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, 0, 10, 0));
  EXPECT_EQ(from->intersect(points()).value(), (chain::Point{Slot(10), branch[10]}));
  chain_.resize(11);
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, 10, 30, 5));
  ASSERT_TRUE(follow(*from));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
}

TEST_F(Rpc, RefusesAnotherNetworkAndKeepsSecrets) {
  auto other = source(chain::find_network("bitcoin", "mainnet").value());
  EXPECT_EQ(other->intersect({}).error().code, Code::kConflict);
  auto wrong = source(kRegtest, "user:not-the-secret@");
  const Error error = wrong->intersect({}).error();
  EXPECT_EQ(error.code, Code::kUnauthorized);
  EXPECT_FALSE(error.retryable);
  for (const std::string& text : {error.message, wrong->describe()})
    EXPECT_EQ(text.find("secret"), std::string::npos) << text;
}

TEST_F(Rpc, ReadsTheCookieAgainWhenItIsRefused) {
  TempDir dir;
  const auto cookie = dir.path() / ".cookie";
  std::ofstream(cookie) << "__cookie__:old";
  RpcOptions options;
  options.poll_ms = 10;
  RpcSource from(RpcEndpoint::parse(node_.url("") + "?cookie=" + cookie.string()).value(), kRegtest,
                 system_clock(), options);
  const Error refused = from.intersect({}).error();
  EXPECT_EQ(refused.code, Code::kUnauthorized);
  EXPECT_TRUE(refused.retryable) << "the node may be about to write it";
  std::ofstream(cookie, std::ios::trunc) << "__cookie__:coffer\n";
  EXPECT_TRUE(from.intersect({}));
  ASSERT_TRUE(follow(from));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
}

// Against a node that takes a question and never answers; alone it would be waited for.
TEST(RpcInterrupt, CutsACallUnderWay) {
  http::SilentServer silent;
  RpcOptions options;
  options.fetch.timeout_ms = 60'000;
  RpcSource from(RpcEndpoint::parse("http://" + silent.address()).value(), kRegtest, system_clock(),
                 options);
  const std::int64_t start_ms = system_clock().steady_ms();
  std::thread other([&] {
    EXPECT_TRUE(silent.asked());
    from.interrupt();
  });
  EXPECT_EQ(from.next(60'000).error().code, Code::kCancelled);
  other.join();
  EXPECT_EQ(from.next(60'000).error().code, Code::kCancelled) << "from now on";
  EXPECT_LT(system_clock().steady_ms() - start_ms, 20'000);
}

TEST(RpcInterrupt, CutsTheFetchesUnderWay) {
  http::SilentServer silent;
  RpcFetch fetch(RpcEndpoint::parse("http://" + silent.address()).value(), 0, 100,
                 {.connections = 3, .timeout_ms = 60'000});
  const std::int64_t start_ms = system_clock().steady_ms();
  std::thread other([&] {
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(silent.asked());
    fetch.cancel();
  });
  EXPECT_FALSE(fetch.take(60'000).value().has_value());
  other.join();
  EXPECT_LT(system_clock().steady_ms() - start_ms, 20'000);
}  // its destructor waits for the workers, which have nothing to wait for

TEST(RpcAddress, ParsedOrRefusedWithoutSecrets) {
  const auto full = RpcEndpoint::parse("http://bob:p%40ss:w@h@node.example:8332").value();
  EXPECT_EQ(full.url, "http://node.example:8332");
  EXPECT_EQ(full.user_password, "bob:p@ss:w@h");
  const auto cookie = RpcEndpoint::parse("http://[::1]:8332?cookie=/a%20b/.cookie").value();
  EXPECT_EQ(cookie.url, "http://[::1]:8332");
  EXPECT_EQ(cookie.cookie, "/a b/.cookie");
  const auto both = RpcEndpoint::parse("http://h:1?zmq=tcp://127.0.0.1:28332&cookie=/c").value();
  EXPECT_EQ(both.zmq, "tcp://127.0.0.1:28332");
  EXPECT_EQ(both.cookie, "/c");
  for (const char* bad :
       {"", "secret", "ftp://secret:x@h", "http://secret@h:1", "http://h:1?x=secret",
        "http://h:99999", "http://h:1?cookie=", "http://h:1?zmq=secret", "http://h:1?zmq=tcp://h",
        "http://h:1?zmq=ipc:///secret", "http://h:1?zmq=tcp://h:0"}) {
    const auto parsed = RpcEndpoint::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, Code::kUsage);
    EXPECT_EQ(parsed.error().message.find("secret"), std::string::npos);
  }
}

TEST(RpcAddress, NamesTheZmqEndpoints) {
  const RpcEndpoint here = RpcEndpoint::parse("http://127.0.0.1:8332").value();
  const RpcEndpoint there = RpcEndpoint::parse("http://node.example:8332").value();
  const RpcEndpoint six = RpcEndpoint::parse("http://[fd00::1]:8332").value();
  for (const char* everywhere : {"tcp://0.0.0.0:28332", "tcp://*:28332", "tcp://[::]:28332"}) {
    EXPECT_EQ(here.reachable(everywhere), "tcp://127.0.0.1:28332");
    EXPECT_EQ(there.reachable(everywhere), "tcp://node.example:28332");
    EXPECT_EQ(six.reachable(everywhere), "tcp://[fd00::1]:28332");
  }
  EXPECT_EQ(here.reachable("tcp://127.0.0.1:28332"), "tcp://127.0.0.1:28332");
  EXPECT_EQ(there.reachable("tcp://127.0.0.1:28332"), "") << "the loopback of another machine";
  EXPECT_EQ(there.reachable("tcp://10.0.0.7:28332"), "tcp://10.0.0.7:28332");
  for (const char* bad : {"", "ipc:///tmp/x", "tcp://", "tcp://*", "tcp://h:x", "tcp://h:70000"})
    EXPECT_EQ(here.reachable(bad), "") << bad;
}

}  // namespace
}  // namespace coffer::feed
