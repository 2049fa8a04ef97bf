// Readiness of the real program, as a load balancer sees it: a store that cannot follow is named
// with its repair while the others go on (E10, U2).
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>
#include <thread>

#include <coffer/base/clock.h>
#include "base/temp_dir.h"
#include "http/client.h"
#include "sql/test_postgres.h"
#include "support/daemon.h"
#include "support/process.h"
#include "support/small_disk.h"

namespace coffer {
namespace {

namespace bj = boost::json;

class Readiness : public testing::Test {
 protected:
  void start(std::vector<std::string> more) {
    url_.clear();
    std::vector<std::string> command = {test::coffer(),
                                        "demo",
                                        "--json",
                                        "--data",
                                        dir_.path().string(),
                                        "--listen",
                                        "127.0.0.1:0",
                                        "--log-level",
                                        "error",
                                        "--devnet-block-interval-ms",
                                        "10"};
    command.insert(command.end(), more.begin(), more.end());
    server_.emplace(command);
    ASSERT_TRUE(server_->wait_for_output("\"url\"")) << server_->err();
    const std::string out = server_->out();
    url_ = std::string(bj::parse(out.substr(0, out.find('\n'))).at("url").as_string());
  }
  // Health is answered at once: asking all the time would leave the server nothing to work with.
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
  // Asks again until the answer has this status, for a minute at most; the answer's body.
  std::string wait_for_status(int status) {
    std::string body;
    for (const std::int64_t end = system_clock().steady_ms() + 60'000;
         system_clock().steady_ms() < end;) {
      const auto answer = http::get(url_ + "/health/ready");
      if (answer) body = answer->content();
      if (answer && answer->status == status) return body;
      pause();
    }
    ADD_FAILURE() << "never " << status << "; last: " << body;
    return body;
  }
  bj::object consumer(std::string_view name) {
    const bj::value status =
        bj::parse(std::string(http::get(url_ + "/api/v1/status").value().content()));
    for (const bj::value& each : status.at("consumers").as_array())
      if (each.at("name").as_string() == name) return each.as_object();
    ADD_FAILURE() << "no consumer " << name;
    return {};
  }
  std::string read_token() const {
    std::string token;
    std::getline(std::ifstream(dir_.path() / "token"), token);
    return token;
  }
  std::uint64_t height_of_totals() {
    return consumer("totals").at("tip").at("number").to_number<std::uint64_t>();
  }

  // Asks again for two minutes at most.
  template <typename Condition>
  bool eventually(Condition condition) {
    const std::int64_t end = system_clock().steady_ms() + 120'000;
    while (!condition()) {
      if (system_clock().steady_ms() > end || !server_->running()) return false;
      pause();
    }
    return true;
  }
  // Far longer than it tries again at once. What /health/ready says then.
  std::string wait_until_the_wallet_waits() {
    std::string body;
    EXPECT_TRUE(eventually([&] {
      const auto answer = http::get(url_ + "/health/ready");
      if (answer) body = answer->content();
      return body.find("wallet waits") != std::string::npos;
    })) << body;
    return body;
  }
  void expect_that_the_others_go_on() {
    const std::uint64_t totals = height_of_totals();
    EXPECT_TRUE(eventually([&] { return height_of_totals() >= totals + 20; }));
  }
  // It gets all that it missed, and stops in peace.
  void expect_that_the_wallet_goes_on() {
    wait_for_status(200);
    const std::uint64_t there = height_of_totals();
    bj::object wallet;
    EXPECT_TRUE(eventually([&] {
      wallet = consumer("wallet");  // which may have had no block yet when its database went away
      return wallet.at("tip").is_object() &&
             wallet.at("tip").at("number").to_number<std::uint64_t>() >= there;
    })) << wallet;
    server_->kill(SIGTERM);
    const auto end = server_->wait();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->exit_code, 0) << end->err;
  }

  TempDir dir_;
  std::optional<test::Process> server_;
  std::string url_;
};

TEST_F(Readiness, FollowingServerIsReady) {
  ASSERT_NO_FATAL_FAILURE(start({}));
  wait_for_status(200);
}

// A source that is at its own end forever: nothing is behind, and yet nothing is new.
TEST_F(Readiness, TipOlderThanAllowedIsStale) {
  const std::string data = (dir_.path() / "data").string();
  const std::string file = (dir_.path() / "chain.dat").string();
  ASSERT_EQ(test::run({"devnet", "write", file, "--blocks", "20"}).exit_code, 0);
  const std::vector<std::string> serve = {"--network",    "regtest",     "--source",
                                          "file:" + file, "--log-level", "error"};
  const std::vector<std::string> check = {"status", "--check", "--data", data};
  {
    test::Daemon daemon(data, serve);
    EXPECT_TRUE(daemon.eventually([&] { return daemon.health("ready") == 200; }))
        << daemon.ready_body();
    EXPECT_EQ(test::run(check).out, "ready\n");
    EXPECT_EQ(daemon.stop(), 0);
  }
  {
    std::vector<std::string> strict = serve;
    strict.insert(strict.end(), {"--ready-max-tip-age", "60"});
    test::Daemon daemon(data, strict);
    EXPECT_TRUE(daemon.eventually([&] {
      return daemon.ready_body().find("\"state\":\"stale\"") != std::string::npos;
    })) << daemon.ready_body();
    EXPECT_EQ(daemon.health("ready"), 503);
    EXPECT_EQ(daemon.health("ready?consumer=utxo"), 503);
    EXPECT_EQ(daemon.health("ready?consumer=none"), 404);
    test::expect_refusal(test::run(check), 1, "more than ready.max_tip_age (1m 00s)");
    EXPECT_EQ(daemon.stop(), 0);
  }
  // The same blocks, and a source that is away.
  test::Daemon daemon(
      data, {"--network", "regtest", "--source",
             "rpc:http://127.0.0.1:" + std::to_string(test::free_port()), "--log-level", "off"});
  EXPECT_TRUE(
      daemon.eventually([&] { return daemon.ready_body().find("source: ") != std::string::npos; }));
  test::expect_refusal(test::run({"status", "--check", "--consumer", "utxo", "--data", data}), 1,
                       "(it answers from what it has)");
  EXPECT_NE(test::run({"status", "--data", data}).out.find("no, it answers from what it has"),
            std::string::npos);
  test::expect_refusal(test::run({"status", "--check", "--consumer", "none", "--data", data}), 1,
                       "no consumer 'none'");
  test::expect_refusal(test::run({"status", "--consumer", "utxo", "--data", data}), 2, "--check");
  EXPECT_EQ(daemon.stop(), 0);
}

TEST_F(Readiness, HaltedConsumerIsNamedAndOthersContinue) {
  ASSERT_NO_FATAL_FAILURE(start({"--devnet-reorg-every", "3", "--devnet-max-reorg-depth", "8",
                                 "--utxo-rollback-window", "1", "--utxo-prune-depth", "1"}));
  // It is also 503 while the first blocks come; wait until it is the store that is named.
  std::string body;
  EXPECT_TRUE(eventually([&] {
    body = wait_for_status(503);
    return body.find("rebuild") != std::string::npos;
  }));
  EXPECT_NE(body.find("utxo"), std::string::npos) << body;
  EXPECT_NE(body.find("coffer utxo rebuild"), std::string::npos) << body;
  // What to do stands in the reasons, which are all that many people look at.
  const bj::value ready = bj::parse(body);
  const std::string repair(ready.at("halted").at(0).at("repair").as_string());
  EXPECT_FALSE(repair.empty());
  const bj::array& reasons = ready.at("reasons").as_array();
  EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(), [&](const bj::value& reason) {
    return reason.as_string().starts_with("utxo halted: ") && reason.as_string().ends_with(repair);
  })) << body;
  EXPECT_EQ(consumer("utxo").at("state").as_string(), "halted");
  expect_that_the_others_go_on();
  EXPECT_NE(consumer("totals").at("state").as_string(), "halted");
  EXPECT_EQ(consumer("utxo").at("state").as_string(), "halted");
}

TEST_F(Readiness, WalletWaitsForItsDatabase) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  sql::test::PostgresServer server;
  ASSERT_NO_FATAL_FAILURE(
      start({"--chain", "bitcoin", "--wallet-database", server.location(server.fresh_database()),
             "--devnet-reorg-every", "5", "--ready-max-behind", "1000000"}));
  wait_for_status(200);
  server.crash();
  (void)wait_until_the_wallet_waits();
  EXPECT_EQ(consumer("wallet").at("state").as_string(), "waiting");
  http::ClientOptions signed_in;
  signed_in.headers = {{"Authorization", "Bearer " + read_token()}};
  const auto refused = http::get(url_ + "/api/v1/wallets", signed_in);
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->status, 503) << refused->content();
  expect_that_the_others_go_on();
  server.start();
  ASSERT_NO_FATAL_FAILURE(expect_that_the_wallet_goes_on());
}

TEST_F(Readiness, WalletWaitsForDiskSpace) {
  test::SmallDisk disk(128);
  COFFER_REQUIRE_MOUNTED_OR_SKIP(disk);
  const std::string location = "sqlite:" + disk.path() + "/wallet.db";
  const auto coffer = [&](std::vector<std::string> command) {
    for (const auto& more : {"--data", dir_.path().c_str()}) command.emplace_back(more);
    if (command[0] != "utxo")
      for (const auto& more : {"--wallet-database", location.c_str()}) command.emplace_back(more);
    const test::Finished done = test::run(command);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.out;
  };
  // Everybody who was paid so far is paid again later.
  (void)coffer({"sync", "--to", "60", "--devnet-reorg-every", "5"});
  (void)coffer({"wallet", "create", "all"});
  std::vector<std::string> import = {"wallet", "import", "script", "all"};
  std::istringstream unspent(coffer({"utxo", "dump"}));
  for (std::string line; std::getline(unspent, line);) {
    const std::size_t script = line.find('|', line.find('|') + 1) + 1;
    import.push_back(line.substr(script, line.find('|', script) - script));
  }
  ASSERT_GT(import.size(), 20u);
  (void)coffer(import);
  // Room for its tables, not for all that it writes ahead of them. What is freed later has room for
  // all blocks that come meanwhile, however slow the machine is.
  ASSERT_TRUE(disk.fill(126u << 20));
  ASSERT_NO_FATAL_FAILURE(start({"--wallet-database", location, "--devnet-reorg-every", "5",
                                 "--ready-max-behind", "1000000"}));
  const std::string body = wait_until_the_wallet_waits();
  EXPECT_NE(body.find("free some space"), std::string::npos) << body;
  expect_that_the_others_go_on();
  ASSERT_TRUE(disk.free());
  ASSERT_NO_FATAL_FAILURE(expect_that_the_wallet_goes_on());
  EXPECT_NE(coffer({"wallet", "verify"}).find("fits together"), std::string::npos);
  const bj::value balance = bj::parse(coffer({"wallet", "balance", "all", "--json"}));
  EXPECT_GT(balance.at("coins").to_number<int>(), 20) << balance;
}

}  // namespace
}  // namespace coffer
