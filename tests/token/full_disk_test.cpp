// A community whose disk is full (a file of SQLite): what was acknowledged is there, what was
// refused says why and is not there, reads go on, and with room so do writes, without a restart.
#include <thread>

#include "base/random.h"
#include "support/small_disk.h"
#include "token/support/token_server.h"

namespace coffer::token {
namespace {

namespace fs = std::filesystem;

class TokenFullDisk : public TokenServer {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_MOUNTED_OR_SKIP(disk_);
    TokenServer::SetUp();
    maintenance_options_.watch_ms = 50;
    serve();
    for (int i = 0; i < kClients; ++i)
      people_.push_back(make_person(fmt::format("member_{}", i), 2'000));
  }
  std::string data_dir() const override { return disk_.path() + "/data"; }

  void leave_room(std::uint64_t bytes) {
    const std::uint64_t available = fs::space(disk_.path()).available;
    ASSERT_TRUE(disk_.fill(available > bytes ? available - bytes : 0));
  }
  static void expect_full(const Answer& answer) {
    EXPECT_EQ(answer.status, 503) << bj::serialize(answer.body);
    EXPECT_EQ(answer.code(), "unavailable");
    EXPECT_NE(answer.text("detail").find("the disk is full"), std::string::npos)
        << answer.text("detail");
    EXPECT_EQ(answer.text("detail").find('\n'), std::string::npos);
  }
  // A request that changes something, and where it can be seen afterwards.
  struct Change {
    std::string path, body;
    std::vector<std::string> places;
    int transfers = 0;
  };
  std::string payment(std::size_t from, const std::string& id) const {
    return fmt::format(R"({{"id":"{}","from":"{}","to":"{}","amount":1,"memo":"{}"}})", id,
                       people_[from].wallet, people_[(from + 1) % people_.size()].wallet,
                       std::string(500, 'x'));
  }
  Change make_change(std::size_t client) const {
    const std::string id = new_id(), other = new_id();
    const auto& wallet = people_[client].wallet;
    switch (client) {
      case 0: return {"/transfers", payment(client, id), {"/transfers/" + id}, 1};
      case 1:
        return {"/batches",
                fmt::format(R"({{"mode":"all","transfers":[{},{}]}})", payment(client, id),
                            payment(client, other)),
                {"/transfers/" + id, "/transfers/" + other},
                2};
      case 2:
        return {"/holds",
                fmt::format(R"({{"id":"{}","wallet":"{}","to":"{}","amount":1,"memo":"{}",)"
                            R"("duration_ms":6000000}})",
                            id, wallet, people_[0].wallet, std::string(500, 'x')),
                {"/holds/" + id}};
      default:
        return {"/users", fmt::format(R"({{"id":"{}","name":"late"}})", id), {"/users/" + id}};
    }
  }
  // Changes until one is refused.
  void change_until_full(std::size_t client) {
    for (;;) {
      const Change change = make_change(client);
      const Answer answer = post(change.path, host(), change.body);
      const std::lock_guard lock(mutex_);
      if (answer.status == 200 || answer.status == 201) {
        applied_.push_back(change);
        continue;
      }
      expect_full(answer);
      refused_.push_back(change);
      return;
    }
  }
  void expect_exactly_what_was_answered() {
    std::int64_t transfers = 1 + kClients;  // the issuance, and what each began with
    for (const Change& change : applied_) {
      transfers += change.transfers;
      for (const std::string& place : change.places)
        EXPECT_EQ(get(place, host()).status, 200) << place;
    }
    for (const Change& change : refused_)
      for (const std::string& place : change.places)
        EXPECT_EQ(get(place, host()).status, 404) << place;
    const auto report = store_->check();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->is_consistent);
    EXPECT_TRUE(report->differences.empty());
    auto connection = store_->ledger().database().acquire();
    ASSERT_TRUE(connection) << connection.error().message;
    EXPECT_EQ(connection->value<std::int64_t>("SELECT count(*) FROM transactions").value(),
              transfers);
  }

  static constexpr int kClients = 4;
  coffer::test::SmallDisk disk_{24};
  std::vector<Person> people_;
  std::mutex mutex_;  // guards what follows while clients run
  std::vector<Change> applied_, refused_;
};
INSTANTIATE_TEST_SUITE_P(Every, TokenFullDisk, testing::Values(sql::test::Engine::kSqlite),
                         sql::test::engine_name);

TEST_P(TokenFullDisk, RefusesAndLosesNothing) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  for (int round = 0; round < 4; ++round) {
    leave_room(rng.between(64u << 10, 3u << 20));
    {
      std::vector<std::jthread> clients;
      clients.reserve(people_.size());
      for (std::size_t i = 0; i < people_.size(); ++i)
        clients.emplace_back([this, i] { change_until_full(i); });
    }
    ASSERT_FALSE(HasFailure());
    expect_exactly_what_was_answered();

    ASSERT_TRUE(disk_.free());
    for (const Change& change : refused_) {
      const Answer answer = post(change.path, host(), change.body);
      EXPECT_TRUE(answer.status == 200 || answer.status == 201) << bj::serialize(answer.body);
      if (change.path == "/transfers") {
        EXPECT_EQ(answer.status, 201);  // no repeat
      }
      applied_.push_back(change);
    }
    refused_.clear();
    expect_exactly_what_was_answered();
  }
  // The log goes on by itself, too.
  const std::int64_t end_ms = system_clock().steady_ms() + 10'000;
  while (got("/log").at("unlogged").to_number<std::int64_t>() != 0) {
    ASSERT_LT(system_clock().steady_ms(), end_ms);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(maintenance_->not_ready(), std::vector<std::string>());
}

}  // namespace
}  // namespace coffer::token
