#include "node/snapshot.h"

#include <gtest/gtest.h>

#include <barrier>
#include <fstream>
#include <thread>

#include "base/temp_dir.h"
#include "http/client.h"
#include "http/server.h"
#include "node/database.h"

namespace coffer::node {
namespace {

namespace fs = std::filesystem;

class Snapshots : public testing::Test {
 protected:
  void SetUp() override {
    config_.data_dir = (dir_.path() / "data").string();
    fs::create_directory(config_.data_dir);
    db_ = kv::Database::open(database_options(config_, false).value()).value();
  }
  bool is_whole(const fs::path& directory) const {
    config::Config there = config_;
    there.data_dir = directory.string();
    const auto opened = kv::Database::open(database_options(there, true).value());
    return opened.has_value();
  }
  TempDir dir_;
  config::Config config_;
  std::unique_ptr<kv::Database> db_;
};

// Through the route, as programs ask: whoever is told 201 has a snapshot, everybody else a reason.
TEST_F(Snapshots, OfManyIntoOneDirectoryExactlyOneIsMade) {
  constexpr int kClients = 8, kRounds = 80;
  api::RouteTable table;
  add_snapshot_route(table, *db_);
  http::Options options;
  options.listen = "127.0.0.1:0";
  options.limits.workers = kClients;
  const auto server = http::Server::start(options, table.router()).value();
  std::vector<std::vector<int>> answers(kRounds, std::vector<int>(kClients));
  std::barrier together(kClients);
  std::vector<std::thread> clients;
  clients.reserve(kClients);
  for (int client = 0; client < kClients; ++client)
    clients.emplace_back([&, client] {
      for (int round = 0; round < kRounds; ++round) {
        const fs::path to = dir_.path() / "copies" / std::to_string(round);
        http::ClientOptions request;
        request.body = "{\"directory\":\"" + to.string() + "\"}";
        together.arrive_and_wait();
        const auto answer = http::request(http::Method::kPost,
                                          server->url() + std::string(kSnapshotRoute), request);
        answers[round][client] = answer ? answer->status : 0;
      }
    });
  for (std::thread& client : clients) client.join();
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_EQ(std::ranges::count(answers[round], 201), 1) << round;
    EXPECT_EQ(std::ranges::count(answers[round], 409), kClients - 1) << round;
    EXPECT_TRUE(is_whole(dir_.path() / "copies" / std::to_string(round))) << round;
  }
}

TEST_F(Snapshots, DirectoryThatIsThereIsLeftAsItIs) {
  const fs::path there = dir_.path() / "there";
  fs::create_directory(there);
  std::ofstream(there / "mine") << "x";
  EXPECT_EQ(make_snapshot(*db_, there).error().code, Code::kConflict);
  EXPECT_TRUE(fs::exists(there / "mine"));
  EXPECT_FALSE(fs::exists(there / "db"));
}

}  // namespace
}  // namespace coffer::node
