// A long import ends in order when somebody stops it, and the same import again does the rest.
#include <fstream>
#include <thread>

#include "cli/wallet_commands.h"
#include "support/daemon.h"

namespace coffer {
namespace {

using test::Daemon;
using test::Process;

namespace bj = boost::json;

class StoppedImport : public WalletCommands {
 protected:
  static constexpr std::int64_t kWatchTo = 400'000;

  const std::string one_branch_ = "wpkh(" + wallet::kTestnetKey + "/0/*)";

  // How far it is watched; another process is at it.
  std::int64_t derived_to() const {
    const bj::value list = as_json({"descriptors", "shop"});
    const auto& rows = list.at("descriptors").as_array();
    return rows.empty() ? 0 : rows.front().at("watch_to").to_number<std::int64_t>();
  }
  // It has made its first step.
  bool wait_for_a_step(Process& working) const {
    for (int i = 0; i < 600 && working.running(); ++i)
      if (derived_to() > 0) return true;
    return false;
  }
};

TEST_F(StoppedImport, InterruptEndsTheCommandAfterTheStep) {
  ASSERT_EQ(wallet({"create", "shop"}).exit_code, 0);
  Process import({test::coffer(), "wallet", "import", "descriptor", "shop", one_branch_,
                  "--watch-to", std::to_string(kWatchTo), "--data", data()});
  ASSERT_TRUE(wait_for_a_step(import));
  import.kill(SIGINT);
  const auto end = import.wait();
  ASSERT_TRUE(end);
  expect_refusal(*end, 3, "the same import again does the rest");
  const std::int64_t there = derived_to();
  EXPECT_EQ(there % 1'000, 0);
  EXPECT_LT(there, kWatchTo);
  EXPECT_EQ(wallet({"import", "descriptor", "shop", one_branch_}).exit_code, 0);
}

// The other process has its turn to write between the steps of this one.
TEST_F(StoppedImport, DaemonFollowsTheChainMeanwhile) {
  ASSERT_EQ(wallet({"create", "shop"}).exit_code, 0);
  Daemon daemon(data(),
                {"--source", "devnet", "--log-level", "error", "--devnet-block-interval-ms", "10"});
  const auto wallet_tip = [&]() -> std::int64_t {
    const bj::value status = daemon.status();
    if (status.is_null()) return -1;
    for (const bj::value& one : status.at("consumers").as_array())
      if (one.at("name").as_string() == "wallet" && one.at("tip").is_object())
        return one.at("tip").at("number").to_number<std::int64_t>();
    return -1;
  };
  Process import({test::coffer(), "wallet", "import", "descriptor", "shop", one_branch_,
                  "--watch-to", std::to_string(kWatchTo), "--data", data()});
  ASSERT_TRUE(wait_for_a_step(import));
  const std::int64_t before = wallet_tip();
  EXPECT_TRUE(daemon.eventually([&] { return !import.running() || wallet_tip() > before + 5; }));
  EXPECT_TRUE(import.running()) << "the wallet stood still until the import was done";
  import.kill(SIGINT);
  const auto end = import.wait();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 3) << end->err;
  EXPECT_EQ(daemon.stop(), 0);
}

TEST_F(StoppedImport, DaemonThatStopsEndsItsRequest) {
  ASSERT_EQ(wallet({"create", "shop"}).exit_code, 0);
  Daemon daemon(data(), {"--source", "devnet", "--log-level", "error"});
  std::string token;
  std::getline(std::ifstream(fs::path(data()) / "token"), token);
  std::thread client([&, url = daemon.url() + "/api/v1/wallets/shop/descriptors"] {
    http::ClientOptions request;
    request.timeout = std::chrono::minutes(5);
    request.headers = {{"Authorization", "Bearer " + token}};
    request.body =
        "{\"descriptor\":\"" + one_branch_ + "\",\"watch_to\":" + std::to_string(kWatchTo) + "}";
    const auto answer = http::request(http::Method::kPost, url, request);
    // It may be cut, too, if the answer does not leave in time.
    if (answer) {
      EXPECT_EQ(answer->status, 503) << answer->content();
    }
  });
  EXPECT_TRUE(wait_for_a_step(daemon.process()));
  EXPECT_EQ(daemon.stop(), 0);
  client.join();
  EXPECT_LT(derived_to(), kWatchTo);
}

}  // namespace
}  // namespace coffer
