// 32 clients of a community's server that is killed with SIGKILL again and again, and whose
// PostgreSQL goes down in between: what was acknowledged is there once, what was not is resolved by
// its id, and every sum and the log are right.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "sql/test_postgres.h"
#include "support/token_village.h"

namespace coffer::token {
namespace {

constexpr int kClients = 32;
constexpr int kMembers = 8;

// One transfer, and what its client knows of it.
struct Attempt {
  Uuid id{};
  std::int64_t amount = 0;
  enum class Known : std::uint8_t { kNothing, kApplied, kRefused } known = Known::kNothing;
};

class TokenCrash : public testing::TestWithParam<bool> {
 protected:
  bool on_postgres() const { return GetParam(); }

  void SetUp() override {
    if (on_postgres()) {
      COFFER_REQUIRE_POSTGRES_OR_SKIP();
      server_ = std::make_unique<sql::test::PostgresServer>(true);
    }
    village_.emplace(server_ ? server_->location("postgres") : "", kMembers);
  }

  void start_daemon() {
    daemon_ = village_->serve();
    const std::lock_guard lock(mutex_);
    url_ = daemon_->url() + "/api/v1/tokens/village/transfers";
    secret_ = village_->secret();
  }
  http::ClientOptions options(std::string body = {}) const {
    http::ClientOptions out;
    out.timeout = std::chrono::milliseconds(15'000);
    const std::lock_guard lock(mutex_);
    out.headers = {{"Authorization", "Bearer " + secret_}, {"Content-Type", "application/json"}};
    out.body = std::move(body);
    return out;
  }
  std::string url() const {
    const std::lock_guard lock(mutex_);
    return url_;
  }

  // Sends it until somebody says what became of it. False when the time is over.
  bool resolve(Attempt& attempt, const std::string& body, const std::atomic<bool>& give_up) {
    while (!give_up) {
      const auto answer = http::request(http::Method::kPost, url(), options(body));
      if (answer && (answer->status == 200 || answer->status == 201)) {
        attempt.known = Attempt::Known::kApplied;
        return true;
      }
      if (answer && answer->status >= 400 && answer->status < 500 && answer->status != 429) {
        EXPECT_NE(answer->content().find("\"insufficient_balance\""), std::string::npos)
            << answer->status << " " << answer->content();
        attempt.known = Attempt::Known::kRefused;
        return true;
      }
      if (answer) {
        EXPECT_EQ(answer->content().find("deadlock"), std::string::npos) << answer->content();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it is being started again
    }
    return false;
  }

  void run_client(std::uint64_t seed, const std::atomic<bool>& stop,
                  const std::atomic<bool>& give_up, std::vector<Attempt>& attempts) {
    Rng rng(seed);
    while (!stop) {
      // One wallet is hot.
      const std::size_t from = rng.one_in(3) ? 0 : rng.below(kMembers);
      const std::size_t to = (from + 1 + rng.below(kMembers - 1)) % kMembers;
      Attempt attempt{.id = random_uuid(), .amount = std::int64_t(rng.between(1, 40))};
      const std::string body =
          fmt::format(R"({{"id":"{}","from":"{}","to":"{}","amount":"{}","memo":"run {}"}})",
                      to_string(attempt.id), village_->wallets()[from], village_->wallets()[to],
                      attempt.amount, seed);
      attempts.push_back(attempt);
      if (!resolve(attempts.back(), body, give_up)) return;
    }
  }

  std::unique_ptr<sql::test::PostgresServer> server_;
  std::optional<test::TokenVillage> village_;
  std::unique_ptr<test::Daemon> daemon_;
  mutable std::mutex mutex_;  // guards what follows
  std::string url_, secret_;
};

TEST_P(TokenCrash, AcknowledgedTransfersExistOnce) {
  const std::int64_t duration_ms = test::long_run() ? 300'000 : 12'000;
  Rng rng(7);
  start_daemon();
  std::atomic<bool> stop{false}, give_up{false};
  std::vector<std::vector<Attempt>> attempts(kClients);
  std::vector<std::jthread> clients;
  clients.reserve(kClients);
  for (int i = 0; i < kClients; ++i)
    clients.emplace_back([&, i] { run_client(std::uint64_t(i), stop, give_up, attempts[i]); });

  const std::int64_t end_ms = system_clock().steady_ms() + duration_ms;
  int kills = 0, outages = 0;
  while (system_clock().steady_ms() < end_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(rng.between(700, 1'800)));
    if (server_ && rng.one_in(3)) {
      server_->crash();
      server_->start();
      ++outages;
      continue;
    }
    daemon_->process().kill(SIGKILL);
    (void)daemon_->process().wait(10'000);
    start_daemon();
    ++kills;
  }
  stop = true;
  // What is open now is resolved by its id.
  const std::int64_t last_ms = system_clock().steady_ms() + 60'000;
  std::jthread watch([&](const std::stop_token& done) {
    while (!done.stop_requested() && system_clock().steady_ms() < last_ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!done.stop_requested()) give_up = true;
  });
  clients.clear();
  watch.request_stop();
  watch.join();
  EXPECT_GT(kills, 1);

  std::map<Uuid, Attempt> sent;
  std::size_t applied = 0;
  for (const auto& list : attempts)
    for (const Attempt& attempt : list) {
      EXPECT_NE(attempt.known, Attempt::Known::kNothing) << to_string(attempt.id);
      sent.emplace(attempt.id, attempt);
      applied += attempt.known == Attempt::Known::kApplied ? 1 : 0;
    }
  EXPECT_GT(applied, 100u);
  EXPECT_EQ(daemon_->stop(), 0);

  // Each once, and nothing that was refused.
  std::size_t found = 0;
  const auto history = village_->history();
  for (const test::Moved& one : history) {
    const auto it = sent.find(one.id);
    if (it == sent.end()) continue;  // of the beginning
    EXPECT_EQ(it->second.known, Attempt::Known::kApplied) << to_string(it->first);
    EXPECT_EQ(it->second.amount, one.amount);
    sent.erase(it);
    ++found;
  }
  EXPECT_EQ(found, applied);
  EXPECT_EQ(history.size(), applied + 1 + kMembers);  // of the beginning
  village_->expect_sound(history.size());
  RecordProperty("kills", kills);
  RecordProperty("outages", outages);
  RecordProperty("transfers", static_cast<int>(applied));
}

INSTANTIATE_TEST_SUITE_P(Engines, TokenCrash, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& with) {
                           return with.param ? "Postgres" : "Sqlite";
                         });

}  // namespace
}  // namespace coffer::token
