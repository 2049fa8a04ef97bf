// Two real programs follow one simulated chain with many reorgs into one database, and one of them
// is killed now and then: the wallet then holds what the UTXO state says.
#include <gtest/gtest.h>

#include <set>

#include "base/temp_dir.h"
#include "sql/connection.h"
#include "sql/test_engines.h"
#include "support/process.h"
#include "utxo/support/dump.h"

namespace coffer {
namespace {

using test::Finished;
using test::Process;

class FollowersRun : public testing::TestWithParam<sql::test::Engine> {
 protected:
  void SetUp() override {
    if (GetParam() == sql::test::Engine::kPostgres) {
      COFFER_REQUIRE_POSTGRES_OR_SKIP();
      auto* server = sql::test::PostgresServer::shared();
      location_ = server->location(server->fresh_database());
    } else {
      location_ = "sqlite:" + (dir_.path() / "shared.db").string();
    }
  }
  std::string data(const std::string& name) const { return (dir_.path() / name).string(); }
  std::vector<std::string> environment() const { return {"COFFER_WALLET_DATABASE=" + location_}; }
  std::string text(std::vector<std::string> arguments, const std::string& name) const {
    arguments.insert(arguments.end(), {"--data", data(name)});
    const Finished end = test::run(arguments, environment());
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  }
  static std::vector<std::string> sync_to(int height) {
    return {"sync", "--to", std::to_string(height), "--devnet-reorg-every", "4"};
  }
  std::unique_ptr<Process> follow(int height, const std::string& name) const {
    std::vector<std::string> arguments = sync_to(height);
    arguments.insert(arguments.begin(), test::coffer());
    arguments.insert(arguments.end(), {"--data", data(name)});
    return std::make_unique<Process>(arguments, environment());
  }

  // What is on every third script of the chain that this directory follows.
  struct Unspent {
    std::set<std::string> scripts;
    std::uint64_t count = 0, value = 0;
  };
  Unspent unspent(const std::string& name, const std::set<std::string>& only) const {
    Unspent found;
    std::uint64_t number = 0;
    for (const test::DumpedOutput& output : test::parse_dump(text({"utxo", "dump"}, name))) {
      if (only.empty() ? ++number % 3 != 0 : !only.contains(output.script)) continue;
      ++found.count;
      found.value += output.value;
      found.scripts.insert(output.script);
    }
    return found;
  }

  // What blocks brought and no block spent: what left the chain may be unconfirmed for ever.
  Unspent mined() const {
    sql::DatabaseOptions options;
    options.location = location_;
    const auto database = sql::Database::open(options).value();
    auto connection = database->acquire().value();
    const auto row =
        connection
            .one<std::uint64_t, std::uint64_t>(
                "SELECT count(*), CAST(coalesce(sum(u.amount), 0) AS BIGINT) FROM utxos u"
                " JOIN transactions t ON t.wallet_id = u.wallet_id AND t.id = u.tx_id"
                " LEFT JOIN transactions s ON s.wallet_id = u.wallet_id AND s.id = u.spent_by_tx_id"
                " WHERE t.block_height IS NOT NULL AND s.block_height IS NULL")
            .value();
    return {{}, std::get<0>(*row), std::get<1>(*row)};
  }

  const TempDir dir_;
  std::string location_;
};

TEST_P(FollowersRun, AgreeWithTheChain) {
  const auto probe = test::run({"sync", "--to", "210", "--devnet-reorg-every", "4", "--data",
                                data("probe"), "--wallet-enabled", "false"});
  ASSERT_EQ(probe.exit_code, 0) << probe.err;
  const std::set<std::string> scripts = unspent("probe", {}).scripts;
  ASSERT_GT(scripts.size(), 10u);
  (void)text({"wallet", "create", "all"}, "one");
  std::vector<std::string> import = {"wallet", "import", "script", "all"};
  import.insert(import.end(), scripts.begin(), scripts.end());
  (void)text(import, "one");

  for (int round = 1; round <= 4; ++round) {
    const auto one = follow(90 + 30 * round, "one"), two = follow(90 + 30 * round, "two");
    Process* victim = round % 4 == 2 ? two.get() : round % 4 == 0 ? one.get() : nullptr;
    if (victim != nullptr) {
      (void)victim->wait_for_output("never said", 200 * round);
      victim->kill(SIGKILL);
    }
    for (Process* each : {one.get(), two.get()}) {
      const auto end = each->wait();
      ASSERT_TRUE(end) << each->err();
      if (each == victim) continue;
      // At its end the one may wait for the other.
      EXPECT_TRUE(end->exit_code == 0 || end->err.find("wallet waits") != std::string::npos)
          << end->exit_code << " " << end->err;
      EXPECT_EQ(end->err.find("halted"), std::string::npos) << end->err;
    }
  }
  // Whoever is alone catches up.
  for (const std::string name : {"one", "two"}) {
    (void)text(sync_to(220), name);
    const Unspent expected = unspent(name, scripts);
    const Unspent found = mined();
    EXPECT_EQ(found.value, expected.value);
    EXPECT_EQ(found.count, expected.count);
    EXPECT_GT(expected.count, 10u);
    EXPECT_NE(text({"wallet", "verify"}, name).find("fits together"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(On, FollowersRun,
                         testing::Values(sql::test::Engine::kSqlite, sql::test::Engine::kPostgres),
                         sql::test::engine_name);

}  // namespace
}  // namespace coffer
