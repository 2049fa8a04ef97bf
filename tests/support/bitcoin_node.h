// For tests: a real Bitcoin node (bcoin, regtest, in memory) as a child process, and what is asked
// of it beside Coffer.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <csignal>
#include <map>
#include <set>

#include <coffer/chain/network.h>
#include "base/result.h"
#include "base/test_data.h"
#include "feed/devnet_chain.h"
#include "http/client.h"
#include "support/networks.h"
#include "support/process.h"

// Ends the test where the node is not installed. Only in the body of a test or in SetUp().
#define COFFER_REQUIRE_NODE_OR_SKIP()                                                        \
  if (!std::filesystem::exists("build/peers/bitcoin-node/node_modules/bcoin")) {             \
    if (::coffer::shared_data_required())                                                    \
      FAIL() << "the peer node is not installed and COFFER_REQUIRE_DATA=1";                  \
    GTEST_SKIP()                                                                             \
        << "the peer node is not installed; ./dev test does it where shared/peers is there"; \
  }                                                                                          \
  static_assert(true, "wants a semicolon")

namespace coffer::test {

class BitcoinNode {
 public:
  // Also after kill(): a new node with an empty chain on the same port.
  void start() {
    process_.emplace(std::vector<std::string>{"node", "build/peers/bitcoin-node/node.js", "--port",
                                              std::to_string(port_)});
    ASSERT_TRUE(process_->wait_for_output("ready on")) << process_->err();
  }
  void kill() {
    process_->kill(SIGKILL);
    process_->wait();
  }

  std::string url(const std::string& credentials = "x:coffer@") const {
    return fmt::format("http://{}127.0.0.1:{}/", credentials, port_);
  }

  // The result; an object with the member "error" if there is none.
  boost::json::value call(const std::string& method, boost::json::array params = {}) {
    namespace bj = boost::json;
    http::ClientOptions options;
    options.timeout = std::chrono::milliseconds(30'000);
    options.headers.push_back({"Authorization", "Basic eDpjb2ZmZXI="});  // x:coffer
    options.body = bj::serialize(bj::object{{"method", method}, {"params", params}, {"id", 1}});
    auto answer = http::request(http::Method::kPost, url(""), options);
    if (!answer) return bj::object{{"error", answer.error().message}};
    const bj::value doc = bj::parse(std::string(answer->content()));
    return doc.at("error").is_null() ? doc.at("result") : bj::object{{"error", doc.at("error")}};
  }
  std::string text(const std::string& method, boost::json::array params = {}) {
    const boost::json::value answer = call(method, std::move(params));
    return answer.is_string() ? std::string(answer.get_string()) : boost::json::serialize(answer);
  }
  std::uint64_t height() { return call("getblockcount").to_number<std::uint64_t>(); }
  std::string hash_at(std::uint64_t height) { return text("getblockhash", {height}); }
  std::set<std::string> mempool() {
    std::set<std::string> ids;
    const boost::json::value answer = call("getrawmempool");
    for (const auto& id : answer.as_array()) ids.insert(std::string(id.get_string()));
    return ids;
  }

  void submit(ByteView block) {
    const boost::json::value answer = call("submitblock", {to_hex(block)});
    ASSERT_TRUE(answer.is_null()) << boost::json::serialize(answer);
  }
  // The node's own miner.
  void mine(std::uint64_t count) {
    const auto mined =
        call("generatetoaddress", {count, "rb1qqqqsyqcyq5rqwzqfpg9scrgwpugpzysngv04wj"});
    ASSERT_TRUE(mined.is_array()) << boost::json::serialize(mined);
    ASSERT_EQ(mined.get_array().size(), count);
  }
  // Blocks on top of a height of `hashes`, which then are that branch; the transactions go into the
  // first. `owner` gets the coinbases.
  void mine_on(std::vector<Hash256>& hashes, std::uint64_t on_height, std::uint64_t count,
               std::uint64_t branch, std::vector<feed::DevTxPtr> txs = {},
               std::uint32_t owner = 0) {
    const auto flavour = feed::make_bitcoin_flavour();
    hashes.resize(on_height + 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      feed::BlockPlan plan;
      plan.height = hashes.size();
      plan.prev = hashes.back();
      plan.unix_s = 1'500'000'000 + plan.height * 600;
      plan.nonce = branch;
      plan.owner = owner;
      plan.txs = std::exchange(txs, {});
      const feed::BuiltBlock block = flavour->build_block(plan);
      ASSERT_NO_FATAL_FAILURE(submit(block.raw));
      hashes.push_back(block.hash);
      coins_[plan.height] = block.coinbase.front();
    }
  }
  // What the block last mined by mine_on() at that height created. It matures after 100 more.
  const feed::DevCoin& coin_of(std::uint64_t height) const { return coins_.at(height); }
  // Takes over the chain of another node, block by block, from a height on.
  void copy(BitcoinNode& from, std::uint64_t first) {
    const std::uint64_t last = from.height();
    for (std::uint64_t height = first; height <= last; ++height) {
      const auto raw = from_hex(from.text("getblock", {from.hash_at(height), false}));
      ASSERT_TRUE(raw) << height;
      ASSERT_NO_FATAL_FAILURE(submit(*raw));
    }
  }

 private:
  const int port_ = free_port();
  std::optional<Process> process_;
  std::map<std::uint64_t, feed::DevCoin> coins_;
};

// Spends a coin of mine_on(), or of another payment, in equal parts; another fee or owner makes it
// another transaction.
inline feed::DevTxPtr payment(const feed::DevCoin& coin, std::uint64_t fee, std::uint32_t owner = 1,
                              std::uint64_t parts = 1) {
  feed::TxPlan plan;
  plan.inputs = {coin};
  const std::uint64_t value = (coin.value - fee) / parts;
  plan.outputs.assign(parts, feed::DevCoin{.value = value, .owner = owner, .kind = coin.kind});
  plan.fee = coin.value - value * parts;
  Rng rng(1);
  return std::make_shared<const feed::DevTx>(feed::make_bitcoin_flavour()->build(plan, rng));
}

// Both nodes stand on one chain. Each mines a branch of its own, the other's is one block longer,
// and `node` is told of it: it leaves `depth` blocks behind. Both stand on one chain again.
// `between` is called while `node` still is on its own branch.
inline void reorganise(BitcoinNode& node, BitcoinNode& other, std::uint64_t depth,
                       const std::function<void()>& between) {
  const std::uint64_t fork = node.height();
  ASSERT_EQ(node.hash_at(fork), other.hash_at(fork));
  ASSERT_NO_FATAL_FAILURE(node.mine(depth));
  ASSERT_NO_FATAL_FAILURE(other.mine(depth + 1));
  const std::string left = node.hash_at(fork + 1);
  between();
  ASSERT_NO_FATAL_FAILURE(node.copy(other, fork + 1));
  ASSERT_EQ(node.height(), fork + depth + 1);
  ASSERT_NE(node.hash_at(fork + 1), left);
}

}  // namespace coffer::test
