// A real Bitcoin node in regtest mode takes what the simulated chain writes.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>

#include "base/temp_dir.h"
#include "base/test_data.h"
#include "http/client.h"
#include "support/process.h"

namespace coffer {
namespace {

namespace bj = boost::json;

bj::value rpc(int port, const std::string& method, bj::array params) {
  http::ClientOptions options;
  options.timeout = std::chrono::milliseconds(30'000);
  options.headers.push_back({"Authorization", "Basic eDpjb2ZmZXI="});  // x:coffer
  options.headers.push_back({"Content-Type", "application/json"});
  options.body = bj::serialize(bj::object{{"method", method}, {"params", params}, {"id", 1}});
  auto answer =
      http::request(http::Method::kPost, "http://127.0.0.1:" + std::to_string(port) + "/", options);
  if (!answer) return bj::object{{"error", answer.error().message}};
  const bj::value doc = bj::parse(std::string(answer->content()));
  return doc.at("error").is_null() ? doc.at("result") : bj::object{{"error", doc.at("error")}};
}

TEST(Peer, BitcoinNodeAcceptsASimulatedChain) {
  const std::string node = "build/peers/bitcoin-node/node.js";
  if (!std::filesystem::exists("build/peers/bitcoin-node/node_modules/bcoin")) {
    if (shared_data_required())
      FAIL() << "the peer node is not installed and COFFER_REQUIRE_DATA=1";
    GTEST_SKIP()
        << "the peer node is not installed; ./dev test does it where shared/peers is there";
  }
  TempDir dir;
  const std::string file = (dir.path() / "chain.hex").string();
  const test::Finished written =
      test::run({"devnet", "write", file, "--format", "hex", "--blocks", "300", "--devnet-seed",
                 "77", "--devnet-txs-per-block", "12", "--json"});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  const int port = test::free_port();
  test::Process peer({"node", node, "--port", std::to_string(port)});
  ASSERT_TRUE(peer.wait_for_output("ready on")) << peer.err();
  std::ifstream blocks(file);
  std::string line;
  std::getline(blocks, line);  // the node has its genesis block
  for (int height = 1; std::getline(blocks, line); ++height) {
    const bj::value answer = rpc(port, "submitblock", {line});
    ASSERT_TRUE(answer.is_null()) << "block " << height << ": " << bj::serialize(answer);
  }
  EXPECT_EQ(rpc(port, "getblockcount", {}).to_number<int>(), 300);
  EXPECT_EQ(rpc(port, "getbestblockhash", {}), bj::parse(written.out).at("tip"));
}

}  // namespace
}  // namespace coffer
