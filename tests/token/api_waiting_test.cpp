// Holds, whose wallet a person has locked with psql or sqlite3, keep nobody else waiting.
#include <future>

#include "token/support/raw_session.h"
#include "token/support/token_server.h"

namespace coffer::token {
namespace {

using http::Method;

class TokenWaiting : public TokenServer {
 protected:
  // A session that is no part of Coffer takes the lock that a hold of this wallet needs.
  void lock_outside(const std::string& wallet) {
    std::string script = "BEGIN IMMEDIATE";
    if (is_sqlite()) {
      outside_ = test::open_raw_sqlite(community_directory(config_) + "/village.sqlite");
    } else {
      outside_ = test::open_raw_postgres(options_.location);
      script =
          fmt::format("BEGIN; SELECT id FROM village.wallets WHERE id = '{}' FOR UPDATE", wallet);
    }
    const auto locked = outside_->run(script);
    ASSERT_TRUE(locked && locked->code.empty());
  }
  void unlock_outside() { ASSERT_TRUE(outside_->run("ROLLBACK")); }

  std::string hold_body(const Person& payer, const Person& payee) const {
    return fmt::format(R"({{"id":"{}","wallet":"{}","to":"{}","amount":1,"duration_ms":600000}})",
                       new_id(), payer.wallet, payee.wallet);
  }
  std::future<Answer> post_later(const std::string& path, const std::string& bearer,
                                 const std::string& body) const {
    return std::async(std::launch::async, [this, path, bearer, body] {
      http::ClientOptions client;
      client.timeout = std::chrono::milliseconds(60'000);
      client.headers = {{"Authorization", "Bearer " + bearer}};
      client.body = body;
      const auto response = http::request(
          Method::kPost, fixture_.service->url() + "/api/v1/tokens/village" + path, client);
      if (!response) ADD_FAILURE() << response.error().message;
      return response ? Answer{response->status, bj::parse(bj::string_view(response->content()))}
                      : Answer{};
    });
  }
  std::int64_t open_holds(const Person& payer) const {
    return store_->find_wallet(parse_uuid(payer.wallet).value()).value()->open_holds;
  }

  std::unique_ptr<test::RawSession> outside_;
};

TEST_P(TokenWaiting, HoldsOfALockedWalletLeaveOthersAlone) {
  serve();
  const Person alice = make_person("alice"), bob = make_person("bob", 0);
  lock_outside(alice.wallet);
  constexpr std::size_t kHolds = 24;  // there are four workers
  std::vector<std::string> bodies;
  std::vector<std::future<Answer>> answers;
  for (std::size_t i = 0; i < kHolds; ++i) {
    bodies.push_back(hold_body(alice, bob));
    answers.push_back(post_later("/holds", alice.bearer, bodies.back()));
  }
  // All of them are there long before the last of these; the deadline is the client's own.
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(fixture_.get("/health/live").status, 200);
    ASSERT_EQ(get("/wallets/" + alice.wallet + "/balance", alice.bearer).text("balance"), "100");
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  unlock_outside();
  std::size_t opened = 0;
  for (std::size_t i = 0; i < kHolds; ++i) {
    const Answer answer = answers[i].get();
    if (answer.status == 201) {
      ++opened;
      continue;
    }
    // On a slow machine some have waited too long: then the same again is the way.
    EXPECT_EQ(answer.status, 503) << bj::serialize(answer.body);
    EXPECT_EQ(post("/holds", alice.bearer, bodies[i]).status, 201);
  }
  EXPECT_GT(opened, 0u);
  EXPECT_EQ(open_holds(alice), std::int64_t(kHolds));
}

TEST_P(TokenWaiting, HoldsAnswerAfterABoundedWait) {
  serve();
  const Person alice = make_person("alice"), bob = make_person("bob", 0);
  const Answer open = post("/holds", alice.bearer, hold_body(alice, bob));
  ASSERT_EQ(open.status, 201);
  lock_outside(alice.wallet);
  const std::string path = "/holds/" + open.text("id");
  std::vector<std::future<Answer>> answers;
  answers.reserve(5);
  for (int i = 0; i < 3; ++i)
    answers.push_back(post_later("/holds", alice.bearer, hold_body(alice, bob)));
  answers.push_back(post_later(path + "/capture", bob.bearer,
                               fmt::format(R"({{"transaction":"{}"}})", new_id())));
  answers.push_back(post_later(path + "/release", bob.bearer, "{}"));
  for (auto& waiting : answers) {
    const Answer answer = waiting.get();
    // 503: it waited for the lock, or for a thread; 504: for SQLite's one connection.
    EXPECT_TRUE(answer.status == 503 || answer.status == 504) << bj::serialize(answer.body);
    EXPECT_NE(answer.text("detail").find("try again"), std::string::npos) << answer.text("detail");
  }
  EXPECT_EQ(open_holds(alice), 1);
  unlock_outside();
  EXPECT_EQ(post(path + "/release", bob.bearer, "{}").status, 200);
  EXPECT_EQ(open_holds(alice), 0);
}

INSTANTIATE_TEST_SUITE_P(Every, TokenWaiting,
                         testing::Values(sql::test::Engine::kSqlite, sql::test::Engine::kPostgres),
                         sql::test::engine_name);

}  // namespace
}  // namespace coffer::token
