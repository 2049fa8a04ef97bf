// The transaction store in PostgreSQL, as the program uses it: the same answers as from RocksDB,
// and two programs that follow one chain into one database.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <sstream>

#include "base/temp_dir.h"
#include "http/client.h"
#include "sql/test_postgres.h"
#include "support/daemon.h"
#include "support/process.h"

namespace coffer {
namespace {

namespace bj = boost::json;
using test::Finished;
using test::Process;
using Arguments = std::vector<std::string>;

class TxOnPostgres : public testing::Test {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_POSTGRES_OR_SKIP();
    auto* server = sql::test::PostgresServer::shared();
    location_ = server->location(server->fresh_database());
  }
  std::string data(const std::string& name) const { return (dir_.path() / name).string(); }
  Arguments environment() const {
    return {"COFFER_TXSTORE_ENABLED=true", "COFFER_TXSTORE_BACKEND=postgres",
            "COFFER_TXSTORE_DATABASE=" + location_};
  }
  // In the directory "rocksdb" the store is in RocksDB.
  Finished run(Arguments arguments, const std::string& name = "postgres") const {
    arguments.insert(arguments.end(), {"--data", data(name)});
    return test::run(arguments,
                     name == "rocksdb" ? Arguments{"COFFER_TXSTORE_ENABLED=true"} : environment());
  }
  std::string text(Arguments arguments, const std::string& name = "postgres") const {
    const Finished end = run(std::move(arguments), name);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  }
  bj::value as_json(Arguments arguments) const {
    arguments.emplace_back("--json");
    return bj::parse(text(std::move(arguments)));
  }
  // Of `tx dump`: all lines, or the ids of those that are mined.
  std::set<std::string> mined(const std::string& name) const {
    std::set<std::string> ids;
    std::istringstream lines(text({"tx", "dump"}, name));
    for (std::string line; std::getline(lines, line);)
      if (line.find("|mined|") != std::string::npos) ids.insert(line.substr(0, 64));
    EXPECT_GT(ids.size(), 100u);
    return ids;
  }

  const TempDir dir_;
  std::string location_;
};

TEST_F(TxOnPostgres, AnswersAreThoseOfRocksDb) {
  const Arguments sync = {"sync", "--to", "400"};
  for (const char* name : {"rocksdb", "postgres"}) (void)text(sync, name);
  for (const Arguments& question :
       {Arguments{"tx", "dump"}, {"tx", "digest"}, {"tx", "list", "--conflicting"}})
    EXPECT_EQ(text(question, "postgres"), text(question, "rocksdb")) << question[1];
  EXPECT_EQ(as_json({"tx", "stats"}).at("backend").as_string(), "postgres");
  EXPECT_GT(as_json({"tx", "stats"}).at("deleted").to_number<int>(), 0);
  EXPECT_TRUE(as_json({"tx", "verify"}).at("ok").as_bool());
  const std::string id = *mined("postgres").rbegin();
  for (const char* command : {"get", "explain"})
    EXPECT_EQ(text({"tx", command, id}, "postgres"), text({"tx", command, id}, "rocksdb"));
  EXPECT_EQ(text({"tx", "get", id, "--raw"}), text({"tx", "get", id, "--raw"}, "rocksdb"));
  const bj::value planned = as_json({"tx", "prune", "--dry-run"});
  EXPECT_EQ(as_json({"tx", "prune"}).at("deleted"), planned.at("deleted"));
}

TEST_F(TxOnPostgres, MarksSurviveARebuild) {
  (void)text({"sync", "--to", "150"});
  const std::set<std::string> ids = mined("postgres");
  const std::string& kept = *ids.begin();
  EXPECT_EQ(as_json({"tx", "preserve", kept, "--until", "9000"}).at("outcome").as_string(), "done");
  EXPECT_NE(text({"tx", "rebuild"}).find("the next start fills it again"), std::string::npos);
  (void)text({"sync", "--to", "151"});
  EXPECT_EQ(as_json({"tx", "explain", kept}).at("reason").as_string(), "preserved");
  EXPECT_TRUE(as_json({"tx", "verify"}).at("ok").as_bool());
}

TEST_F(TxOnPostgres, DaemonAnswersAndDoesTheWork) {
  (void)text({"sync", "--to", "150"});
  const std::string id = *mined("postgres").begin();
  test::Daemon daemon(data("postgres"),
                      {"--txstore-enabled", "--txstore-backend", "postgres", "--txstore-database",
                       location_, "--devnet-block-interval-ms", "60000"});
  ASSERT_TRUE(daemon.eventually([&] { return daemon.has_caught_up(); }));
  EXPECT_EQ(as_json({"tx", "preserve", id, "--until", "9000"}).at("outcome").as_string(), "done");
  const auto answer = http::get(daemon.url() + "/api/v1/txs/" + id + "/retention");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_NE(answer->content().find("\"preserved\""), std::string::npos) << answer->content();
  EXPECT_EQ(daemon.stop(), 0);
}

TEST_F(TxOnPostgres, LocationOfAnotherNetworkOrNoServerIsRefused) {
  (void)text({"sync", "--to", "20"});
  test::expect_refusal(run({"sync", "--to", "20", "--chain", "cardano"}, "other"), 1, "bitcoin");
  location_ = "postgres://nobody@127.0.0.1:1/none";
  test::expect_refusal(run({"tx", "stats"}), 3, "127.0.0.1");
}

// Each block is applied by whoever is first; the other goes on from there.
TEST_F(TxOnPostgres, TwoFollowersAgreeWithTheChain) {
  const auto sync_to = [](int height) {
    return Arguments{"sync", "--to", std::to_string(height), "--devnet-reorg-every", "4"};
  };
  for (int round = 1; round <= 4; ++round) {
    std::unique_ptr<Process> followers[2];
    for (int i = 0; i < 2; ++i) {
      Arguments arguments = sync_to(200 + 60 * round);
      arguments.insert(arguments.begin(), test::coffer());
      arguments.insert(arguments.end(), {"--data", data(i == 0 ? "one" : "two")});
      followers[i] = std::make_unique<Process>(arguments, environment());
    }
    Process* const victim = round % 2 == 0 ? followers[round / 2 - 1].get() : nullptr;
    if (victim != nullptr) {
      (void)victim->wait_for_output("never said", 150 * round);
      victim->kill(SIGKILL);
    }
    for (const auto& follower : followers) {
      const auto end = follower->wait();
      ASSERT_TRUE(end) << follower->err();
      if (follower.get() == victim) continue;
      // At its end the one may wait for the other.
      EXPECT_TRUE(end->exit_code == 0 || end->err.find("txstore waits") != std::string::npos)
          << end->exit_code << " " << end->err;
      EXPECT_EQ(end->err.find("halted"), std::string::npos) << end->err;
    }
    EXPECT_TRUE(as_json({"tx", "verify"}).at("ok").as_bool());
  }
  (void)text(sync_to(450), "rocksdb");
  for (const std::string name : {"one", "two"}) {
    (void)text(sync_to(450), name);
    (void)text({"tx", "prune"}, name);
    EXPECT_EQ(mined(name), mined("rocksdb"));
    EXPECT_EQ(bj::parse(text({"tx", "stats", "--json"}, name)).at("parent_missing"), 0);
  }
}

}  // namespace
}  // namespace coffer
