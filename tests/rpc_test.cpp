// A real Bitcoin node is followed by JSON-RPC: mining, mempool, reorgs, restarts.
#include "feed/rpc_source.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <csignal>
#include <fstream>
#include <set>

#include "base/temp_dir.h"
#include "base/test_data.h"
#include "chain/decode.h"
#include "feed/devnet_chain.h"
#include "http/client.h"
#include "process.h"

namespace coffer::feed {
namespace {

namespace json = boost::json;

const chain::Network kRegtest = chain::find_network("bitcoin", "regtest").value();

class Rpc : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("build/peers/bitcoin-node/node_modules/bcoin")) {
      if (shared_data_required())
        FAIL() << "the peer node is not installed and COFFER_REQUIRE_DATA=1";
      GTEST_SKIP()
          << "the peer node is not installed; ./dev test does it where shared/peers is there";
    }
    start_node();
  }

  void start_node() {
    node_.emplace(std::vector<std::string>{"node", "build/peers/bitcoin-node/node.js", "--port",
                                           std::to_string(port_)});
    ASSERT_TRUE(node_->wait_for_output("ready on")) << node_->err();
  }

  json::value call(const std::string& method, json::array params) {
    http::ClientOptions options;
    options.timeout = std::chrono::milliseconds(30'000);
    options.headers.push_back({"Authorization", "Basic eDpjb2ZmZXI="});  // x:coffer
    options.body = json::serialize(json::object{{"method", method}, {"params", params}, {"id", 1}});
    auto answer = http::request(http::Method::kPost, url(""), options);
    if (!answer) return json::object{{"error", answer.error().message}};
    const json::value doc = json::parse(std::string(answer->content()));
    return doc.at("error").is_null() ? doc.at("result") : json::object{{"error", doc.at("error")}};
  }
  std::string url(const std::string& credentials) const {
    return fmt::format("http://{}127.0.0.1:{}/", credentials, port_);
  }
  std::unique_ptr<RpcSource> source(const chain::Network& network = kRegtest,
                                    const std::string& credentials = "x:coffer@") {
    RpcOptions options;
    options.poll_ms = 10;
    options.max_seen_per_poll = 3;
    return std::make_unique<RpcSource>(RpcEndpoint::parse(url(credentials)).value(), network,
                                       system_clock(), options);
  }

  void submit(const Bytes& block) {
    const json::value answer = call("submitblock", {to_hex(block)});
    ASSERT_TRUE(answer.is_null()) << json::serialize(answer);
  }

  // `count` blocks without payments on top of a height of `hashes`, which then are that branch.
  void mine(std::vector<Hash256>& hashes, std::uint64_t on_height, std::uint64_t count,
            std::uint64_t branch) {
    const auto flavour = make_bitcoin_flavour();
    hashes.resize(on_height + 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t height = hashes.size();
      BlockPlan plan;
      plan.height = height;
      plan.prev = hashes.back();
      plan.unix_s = 1'500'000'000 + height * 600;
      plan.nonce = branch;
      const BuiltBlock block = flavour->build_block(plan);
      ASSERT_NO_FATAL_FAILURE(submit(block.raw));
      hashes.push_back(block.hash);
    }
  }

  bool caught_up() {
    const json::value tip = call("getbestblockhash", {}), mempool = call("getrawmempool", {});
    return !chain_.empty() && tip.is_string() && mempool.is_array() &&
           tip.get_string() == chain::display(chain::Family::kBitcoin, chain_.back()) &&
           mempool.get_array().size() == mempool_.size();
  }

  // Takes what the source has until it has nothing more, which on a busy machine may be long after
  // the first Idle; keeps chain_ and mempool_.
  Result<> follow(RpcSource& from) {
    const std::int64_t deadline_ms = system_clock().steady_ms() + 60'000;
    for (;;) {
      Step step = TRY(from.next(50));
      if (std::holds_alternative<Idle>(step)) {
        if (caught_up() || system_clock().steady_ms() > deadline_ms) return {};
        continue;
      }
      if (auto* forward = std::get_if<Forward>(&step)) {
        const chain::Block block = TRY(chain::decode(kRegtest, std::move(forward->raw)));
        EXPECT_EQ(block.prev, chain_.empty() ? Hash256{} : chain_.back());
        chain_.push_back(block.hash);
        for (const chain::Tx& tx : block.txs) mempool_.erase(tx.id);
      } else if (auto* back = std::get_if<Backward>(&step)) {
        EXPECT_EQ(chain_.at(back->to.slot.value), back->to.hash);
        chain_.resize(back->to.slot.value + 1);
        ++backwards_;
      } else if (auto* seen = std::get_if<Seen>(&step)) {
        chain::Block tx;
        TRY(chain::decode_tx_into(tx, kRegtest, seen->raw));
        EXPECT_TRUE(mempool_.insert(tx.txs.front().id).second) << "told twice";
        ++seen_;
      } else if (auto* dropped = std::get_if<Dropped>(&step)) {
        EXPECT_EQ(mempool_.erase(dropped->id), 1u) << "dropped, but never seen or mined";
        ++dropped_;
      }
    }
  }

  // The node's own chain, block by block, and its mempool.
  void expect_same_as_node() {
    ASSERT_EQ(call("getblockcount", {}).to_number<std::size_t>() + 1, chain_.size());
    for (std::size_t height = 0; height < chain_.size(); ++height)
      ASSERT_EQ(call("getblockhash", {height}).get_string(),
                chain::display(chain::Family::kBitcoin, chain_[height]))
          << height;
    std::set<std::string> theirs, ours;
    const json::value mempool = call("getrawmempool", {});
    for (const auto& id : mempool.as_array()) theirs.insert(std::string(id.get_string()));
    for (const Hash256& id : mempool_) ours.insert(chain::display(chain::Family::kBitcoin, id));
    ASSERT_EQ(ours, theirs);
  }
  std::vector<chain::Point> points() const {
    std::vector<chain::Point> all;
    for (std::size_t height = chain_.size(); height-- > 0;)
      all.push_back({Slot(height), chain_[height]});
    return all;
  }

  const int port_ = test::free_port();
  std::optional<test::Process> node_;
  std::vector<Hash256> chain_;
  std::set<Hash256> mempool_;
  int backwards_ = 0, seen_ = 0, dropped_ = 0;
};

TEST_F(Rpc, CatchesUpAndFollowsReorgsOfOneThreeAndThirtyBlocks) {
  std::vector<Hash256> branch = {kRegtest.genesis};
  ASSERT_NO_FATAL_FAILURE(mine(branch, 0, 120, 0));
  auto from = source();
  EXPECT_EQ(from->intersect({}).value(), chain::Point::origin());
  ASSERT_TRUE(follow(*from));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  EXPECT_EQ(from->tip_number(), 120u);
  int reorgs = 0;
  for (const std::uint64_t depth : {1, 3, 30}) {
    const std::uint64_t tip = branch.size() - 1;
    // As long as the old branch: the node stays, and so do we.
    ASSERT_NO_FATAL_FAILURE(mine(branch, tip - depth, depth, depth));
    ASSERT_TRUE(follow(*from));
    EXPECT_EQ(backwards_, reorgs);
    ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
    ASSERT_NO_FATAL_FAILURE(mine(branch, tip, 1, depth));
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

TEST_F(Rpc, TellsOfTheMempoolAndBroadcasts) {
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
    ASSERT_NO_FATAL_FAILURE(submit(emission.block));
  }
  ASSERT_TRUE(follow(*from));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  EXPECT_GT(seen_, 20);
  EXPECT_GT(dropped_, 0);
  EXPECT_EQ(from->broadcast(Bytes{1, 2, 3}).error().code, Code::kInvalidInput);
}

TEST_F(Rpc, SurvivesARestartOfTheNode) {
  std::vector<Hash256> branch = {kRegtest.genesis};
  ASSERT_NO_FATAL_FAILURE(mine(branch, 0, 20, 0));
  auto from = source();
  ASSERT_TRUE(follow(*from));
  node_->kill(SIGKILL);
  node_->wait();
  auto lost = follow(*from);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kUnavailable);
  EXPECT_TRUE(lost.error().retryable);
  EXPECT_EQ(from->intersect(points()).error().code, Code::kUnavailable);
  // It comes back with the first half of its chain, and then goes another way.
  ASSERT_NO_FATAL_FAILURE(start_node());
  ASSERT_NO_FATAL_FAILURE(mine(branch, 0, 10, 0));
  EXPECT_EQ(from->intersect(points()).value(), (chain::Point{Slot(10), branch[10]}));
  chain_.resize(11);
  ASSERT_NO_FATAL_FAILURE(mine(branch, 10, 30, 5));
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
  RpcSource from(
      RpcEndpoint::parse(fmt::format("http://127.0.0.1:{}?cookie={}", port_, cookie.string()))
          .value(),
      kRegtest, system_clock(), options);
  const Error refused = from.intersect({}).error();
  EXPECT_EQ(refused.code, Code::kUnauthorized);
  EXPECT_TRUE(refused.retryable) << "the node may be about to write it";
  std::ofstream(cookie, std::ios::trunc) << "__cookie__:coffer\n";
  EXPECT_TRUE(from.intersect({}));
  ASSERT_TRUE(follow(from));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
}

TEST(RpcAddress, IsTakenApartOrRefusedWithoutRepeatingIt) {
  const auto full = RpcEndpoint::parse("http://bob:p%40ss:w@h@node.example:8332").value();
  EXPECT_EQ(full.url, "http://node.example:8332");
  EXPECT_EQ(full.user_password, "bob:p@ss:w@h");
  const auto cookie = RpcEndpoint::parse("http://[::1]:8332?cookie=/a%20b/.cookie").value();
  EXPECT_EQ(cookie.url, "http://[::1]:8332");
  EXPECT_EQ(cookie.cookie, "/a b/.cookie");
  for (const char* bad : {"", "secret", "ftp://secret:x@h", "http://secret@h:1",
                          "http://h:1?x=secret", "http://h:99999", "http://h:1?cookie="}) {
    const auto parsed = RpcEndpoint::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, Code::kUsage);
    EXPECT_EQ(parsed.error().message.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace coffer::feed
