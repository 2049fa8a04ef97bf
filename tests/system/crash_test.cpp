// The real program is killed with SIGKILL at random moments; what it ends with must equal a run
// without kills, by digest (E2).
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <thread>

#include "base/random.h"
#include "base/temp_dir.h"
#include "support/process.h"

namespace coffer {
namespace {

namespace bj = boost::json;
using test::Process;

struct Setup {
  const char* chain;
  std::uint64_t to;
};

std::vector<std::string> sync_command(const Setup& setup, const std::filesystem::path& data) {
  return {test::coffer(),
          "sync",
          "--chain",
          setup.chain,
          "--to",
          std::to_string(setup.to),
          "--data",
          data.string(),
          "--devnet-seed",
          "5",
          "--devnet-reorg-every",
          "8",
          "--devnet-max-reorg-depth",
          "12",
          "--chainstate-rollback-window",
          "200",
          "--log-level",
          "warn"};
}

// What must be equal: the chain's tip, the totals' digest, and that every consumer is at the tip.
std::string fingerprint(const std::filesystem::path& data) {
  const test::Finished status = test::run({"status", "--json", "--data", data.string()});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  const bj::object doc = bj::parse(status.out).as_object();
  std::string out = std::string(doc.at("tip").at("hash").as_string()) + " " +
                    std::string(doc.at("totals").at("digest").as_string());
  for (const bj::value& consumer : doc.at("consumers").as_array())
    out += " " + std::string(consumer.at("name").as_string()) + ":" +
           std::string(consumer.at("tip").at("hash").as_string());
  return out;
}

void crash_campaign(const Setup& setup, int kills) {
  TempDir straight, crashed;
  Process whole(sync_command(setup, straight.path()));
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(whole.wait()->exit_code, 0) << whole.err();
  const auto whole_us = std::chrono::duration_cast<std::chrono::microseconds>(
                            std::chrono::steady_clock::now() - start)
                            .count();

  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  int killed = 0, finished = 0;
  while (killed < kills) {
    Process process(sync_command(setup, crashed.path()));
    // Any moment from before the database is open to after the last block.
    std::this_thread::sleep_for(
        std::chrono::microseconds(rng.below(static_cast<std::uint64_t>(whole_us))));
    process.kill(SIGKILL);
    const auto end = process.wait();
    ASSERT_TRUE(end);
    if (end->exit_code == -1) {
      ++killed;
    } else {
      ASSERT_EQ(end->exit_code, 0) << end->err;
      // It got to the end: compare, and begin anew for the kills that are left.
      ASSERT_EQ(fingerprint(crashed.path()), fingerprint(straight.path()));
      ++finished;
      std::filesystem::remove_all(crashed.path());
      std::filesystem::create_directory(crashed.path());
    }
  }
  Process last(sync_command(setup, crashed.path()));
  ASSERT_EQ(last.wait()->exit_code, 0) << last.err();
  EXPECT_EQ(fingerprint(crashed.path()), fingerprint(straight.path()));
  std::printf("%d kills, %d runs to the end between them\n", killed, finished);
}

TEST(Crash, KilledBitcoinSyncEndsLikeUninterruptedOne) {
  crash_campaign({"bitcoin", 600}, test::long_run() ? 250 : 10);
}
TEST(Crash, KilledCardanoSyncEndsLikeUninterruptedOne) {
  crash_campaign({"cardano", 600}, test::long_run() ? 250 : 10);
}

TEST(Crash, KilledServerContinuesFromItsTip) {
  TempDir data;
  const std::vector<std::string> command = {test::coffer(),
                                            "demo",
                                            "--json",
                                            "--data",
                                            data.path().string(),
                                            "--listen",
                                            "127.0.0.1:0",
                                            "--devnet-block-interval-ms",
                                            "20"};
  std::uint64_t height = 0;
  for (int round = 0; round < 3; ++round) {
    Process server(command);
    ASSERT_TRUE(server.wait_for_output("\"url\"")) << server.err();
    std::uint64_t now = 0;
    while (now <= height + 160) {
      const test::Finished status = test::run({"status", "--json", "--data", data.path().string()});
      ASSERT_EQ(status.exit_code, 0) << status.err;
      const bj::value doc = bj::parse(status.out);
      now = doc.at("tip").is_null() ? 0 : doc.at("tip").at("number").to_number<std::uint64_t>();
    }
    EXPECT_GT(now, height);
    height = now;
    server.kill(round == 2 ? SIGTERM : SIGKILL);
    const auto end = server.wait(20'000);
    ASSERT_TRUE(end) << "did not stop in time";
    if (round == 2) {
      EXPECT_EQ(end->exit_code, 0) << end->err;
    }
  }
}

}  // namespace
}  // namespace coffer
