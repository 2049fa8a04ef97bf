// Several servers of one community at once. Whoever does not know what became of a request may send
// it to another of them, even while the first still works on it: it is applied once, and all answer
// the same.
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "sql/test_postgres.h"
#include "support/token_village.h"

namespace coffer::token {
namespace {

namespace json = boost::json;

struct Answer {
  int status = 0;
  json::value body;

  std::string reason() const {
    const auto* reason = body.is_object() ? body.as_object().if_contains("reason") : nullptr;
    return reason != nullptr && reason->is_string() ? reason->as_string().c_str() : "";
  }
  bool is_repeat() const { return body.at("is_repeat").as_bool(); }
};
std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  return out << answer.status << " " << json::serialize(answer.body);
}

// One of the servers, or two of them at the same time.
class Servers {
 public:
  static constexpr int kServers = 3;

  explicit Servers(const test::TokenVillage& village) {
    for (int i = 0; i < kServers; ++i) {
      daemons_.push_back(village.serve(i));
      secrets_.push_back(village.secret(i));
    }
  }

  Answer post(std::size_t server, const std::string& path, const std::string& body) const {
    http::ClientOptions options;
    options.timeout = std::chrono::milliseconds(20'000);
    options.headers = {{"Authorization", "Bearer " + secrets_[server]},
                       {"Content-Type", "application/json"}};
    options.body = body;
    const auto response = http::request(
        http::Method::kPost, daemons_[server]->url() + "/api/v1/tokens/village" + path, options);
    if (!response) {
      ADD_FAILURE() << path << ": " << response.error().message;
      return {};
    }
    return {response->status, json::parse(std::string(response->content()))};
  }
  struct Request {
    std::string path, body;
  };
  std::array<Answer, 2> post_two(Rng& rng, const Request& first, const Request& second) const {
    const std::size_t one = rng.below(kServers),
                      other = (one + 1 + rng.below(kServers - 1)) % kServers;
    auto later =
        std::async(std::launch::async, [&] { return post(other, second.path, second.body); });
    Answer now = post(one, first.path, first.body);
    return {std::move(now), later.get()};
  }
  std::array<Answer, 2> post_twice(Rng& rng, const Request& request) const {
    return post_two(rng, request, request);
  }
  void stop() {
    for (const auto& daemon : daemons_) {
      EXPECT_EQ(daemon->stop(), 0);
      EXPECT_EQ(daemon->log(), "");
    }
  }

 private:
  std::vector<std::unique_ptr<test::Daemon>> daemons_;
  std::vector<std::string> secrets_;
};

class TokenProcesses : public testing::Test {
 protected:
  static constexpr int kClients = 6, kMembers = 6;

  void SetUp() override {
    COFFER_REQUIRE_POSTGRES_OR_SKIP();
    sql::test::PostgresServer& server = *sql::test::PostgresServer::shared();
    location_ = server.location(server.fresh_database());
    village_.emplace(location_, kMembers, 10'000'000);
    servers_.emplace(*village_);
  }

  struct Payment {
    std::string id = to_string(random_uuid());
    std::string from, to;
    std::int64_t amount = 0;

    Servers::Request request() const {
      return {"/transfers", fmt::format(R"({{"id":"{}","from":"{}","to":"{}","amount":"{}"}})", id,
                                        from, to, amount)};
    }
  };
  Payment some_payment(Rng& rng) const {
    // One wallet is hot.
    const std::size_t from = rng.one_in(3) ? 0 : rng.below(kMembers);
    const std::size_t to = (from + 1 + rng.below(kMembers - 1)) % kMembers;
    return {.from = village_->wallets()[from],
            .to = village_->wallets()[to],
            .amount = static_cast<std::int64_t>(rng.between(1, 9))};
  }
  void acknowledge(const std::string& id, std::int64_t amount) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(acknowledged_.emplace(parse_uuid(id).value(), amount).second) << id;
  }

  // Applied by one of the two, and a repeat for the other.
  static void expect_applied_once(std::array<Answer, 2> answers) {
    if (answers[0].status == 200) std::swap(answers[0], answers[1]);
    EXPECT_EQ(answers[0].status, 201) << answers[0];
    EXPECT_EQ(answers[1].status, 200) << answers[1];
    if (answers[0].status != 201 || answers[1].status != 200) return;
    EXPECT_FALSE(answers[0].is_repeat());
    EXPECT_TRUE(answers[1].is_repeat());
    for (const char* key : {"id", "balance", "created_unix_ms"})
      EXPECT_EQ(answers[0].body.at(key), answers[1].body.at(key)) << key;
  }
  static void expect_same(const std::array<Answer, 2>& answers, int status) {
    EXPECT_EQ(answers[0].status, status) << answers[0];
    EXPECT_EQ(answers[1].status, status) << answers[1];
    EXPECT_EQ(answers[0].body, answers[1].body);
  }
  // One of the two: which.
  static std::size_t expect_one_of(const std::array<Answer, 2>& answers,
                                   const std::string& refused_as) {
    const std::size_t done = answers[0].status < 300 ? 0 : 1;
    EXPECT_LT(answers[done].status, 300) << answers[done];
    EXPECT_EQ(answers[1 - done].status, 409) << answers[1 - done];
    EXPECT_EQ(answers[1 - done].reason(), refused_as) << answers[1 - done];
    return done;
  }

  void pay_twice(Rng& rng) {
    const Payment payment = some_payment(rng);
    expect_applied_once(servers_->post_twice(rng, payment.request()));
    acknowledge(payment.id, payment.amount);
    if (!rng.one_in(4)) return;
    const std::string id = to_string(random_uuid());
    expect_applied_once(servers_->post_twice(
        rng, {"/reversals", fmt::format(R"({{"transaction":"{}","id":"{}","reason":"a test"}})",
                                        payment.id, id)}));
    acknowledge(id, payment.amount);
  }
  void pay_two_with_one_id(Rng& rng) {
    const Payment first = some_payment(rng);
    Payment second = rng.one_in(2) ? first : some_payment(rng);
    second.id = first.id;
    second.amount = first.amount + 1;
    const auto answers = servers_->post_two(rng, first.request(), second.request());
    const std::size_t done = expect_one_of(answers, "id_taken");
    acknowledge(first.id, done == 0 ? first.amount : second.amount);
  }
  void send_batch_twice(Rng& rng) {
    std::vector<Payment> payments;
    std::string list;
    for (int i = 0; i < 5; ++i) {
      payments.push_back(some_payment(rng));
      list += (list.empty() ? "" : ",") + payments.back().request().body;
    }
    const auto answers =
        servers_->post_twice(rng, {"/batches", fmt::format(R"({{"mode":"{}","transfers":[{}]}})",
                                                           rng.one_in(2) ? "all" : "each", list)});
    for (const Answer& answer : answers) ASSERT_EQ(answer.status, 200) << answer;
    for (std::size_t i = 0; i < payments.size(); ++i) {
      const auto& one = answers[0].body.at("results").at(i).at("transfer");
      const auto& other = answers[1].body.at("results").at(i).at("transfer");
      ASSERT_TRUE(one.is_object() && other.is_object()) << answers[0] << answers[1];
      EXPECT_NE(one.at("is_repeat"), other.at("is_repeat"));
      EXPECT_EQ(one.at("balance"), other.at("balance"));
      EXPECT_EQ(one.at("created_unix_ms"), other.at("created_unix_ms"));
      acknowledge(payments[i].id, payments[i].amount);
    }
  }
  void hold_twice(Rng& rng) {
    const Payment held = some_payment(rng);
    expect_same(servers_->post_twice(
                    rng, {"/holds", fmt::format(R"({{"id":"{}","wallet":"{}","to":"{}",)"
                                                R"("amount":"{}","duration_ms":60000}})",
                                                held.id, held.from, held.to, held.amount)}),
                201);
    const std::string id = to_string(random_uuid());
    const Servers::Request capture = {"/holds/" + held.id + "/capture",
                                      fmt::format(R"({{"transaction":"{}"}})", id)};
    const Servers::Request release = {"/holds/" + held.id + "/release", "{}"};
    if (!rng.one_in(2)) {
      expect_same(servers_->post_twice(rng, capture), 200);
      acknowledge(id, held.amount);
    } else if (expect_one_of(servers_->post_two(rng, capture, release), "hold_ended") == 0) {
      acknowledge(id, held.amount);
    }
  }

  // That PostgreSQL has met in this database, also those that a server tried again.
  std::int64_t deadlocks() const {
    sql::DatabaseOptions options;
    options.location = location_;
    const auto database = sql::Database::open(options).value();
    auto connection = database->acquire().value();
    return connection
        .value<std::int64_t>(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        .value()
        .value();
  }

  std::string location_;
  std::optional<test::TokenVillage> village_;
  std::optional<Servers> servers_;
  std::mutex mutex_;  // guards what follows
  std::map<Uuid, std::int64_t> acknowledged_;
};

TEST_F(TokenProcesses, RepeatsAtOtherServersAreAppliedOnce) {
  const std::int64_t end_ms = system_clock().steady_ms() + (test::long_run() ? 120'000 : 4'000);
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  {
    std::vector<std::jthread> clients;
    clients.reserve(kClients);
    for (std::uint64_t i = 0; i < kClients; ++i)
      clients.emplace_back([this, end_ms, i, seed] {
        Rng rng(seed + i);
        while (system_clock().steady_ms() < end_ms && !HasFailure()) {
          const std::uint64_t which = rng.below(10);
          if (which < 5)
            pay_twice(rng);
          else if (which < 7)
            pay_two_with_one_id(rng);
          else if (which < 8)
            send_batch_twice(rng);
          else
            hold_twice(rng);
        }
      });
  }
  servers_->stop();
  EXPECT_GT(acknowledged_.size(), 100u);
  EXPECT_EQ(deadlocks(), 0);

  // Each once, and nothing else but the issuance and what the members began with.
  const auto history = village_->history();
  for (const test::Moved& one : history) {
    const auto found = acknowledged_.find(one.id);
    if (found == acknowledged_.end()) continue;
    EXPECT_EQ(found->second, one.amount) << to_string(one.id);
    acknowledged_.erase(found);
  }
  for (const auto& [id, amount] : acknowledged_) ADD_FAILURE() << to_string(id) << " is missing";
  village_->expect_sound(history.size());
  RecordProperty("transfers", static_cast<int>(history.size()));
}

// A file is for one server: a second one is told so. Commands beside the server are not refused,
// and the same id through both is applied once.
class TokenFileProcesses : public testing::Test {
 protected:
  test::TokenVillage village_{"", 2};
};

TEST_F(TokenFileProcesses, SecondServerIsRefused) {
  const auto daemon = village_.serve();
  const test::Finished second = test::run({"serve", "--data", village_.data().string(), "--listen",
                                           "127.0.0.1:0", "--token-enabled", "true"});
  test::expect_refusal(second, 3, fmt::format("in use by process {}", daemon->process().pid()));
  EXPECT_EQ(daemon->stop(), 0);
}

TEST_F(TokenFileProcesses, CommandBesideAServerIsAppliedOnce) {
  constexpr int kPayments = 12;
  const auto daemon = village_.serve();
  for (int i = 0; i < kPayments; ++i) {
    const std::string id = to_string(random_uuid());
    auto typed = std::async(std::launch::async, [&] {
      return village_.cli({"token", "transfer", "member_0", "member_1", "5", "--id", id, "--json"});
    });
    http::ClientOptions options;
    options.timeout = std::chrono::milliseconds(20'000);
    options.headers = {{"Authorization", "Bearer " + village_.secret()},
                       {"Content-Type", "application/json"}};
    options.body = fmt::format(R"({{"id":"{}","from":"{}","to":"{}","amount":"5"}})", id,
                               village_.wallets()[0], village_.wallets()[1]);
    // Some time between the start of the command and its end.
    std::this_thread::sleep_for(std::chrono::milliseconds(i * 4));
    const auto sent = http::request(http::Method::kPost,
                                    daemon->url() + "/api/v1/tokens/village/transfers", options);
    ASSERT_TRUE(sent) << sent.error().message;
    const json::value one = json::parse(typed.get());
    const json::value other = json::parse(std::string(sent->content()));
    ASSERT_LE(sent->status, 201) << sent->content();
    EXPECT_NE(one.at("is_repeat"), other.at("is_repeat"));
    for (const char* key : {"id", "balance", "created_unix_ms"})
      EXPECT_EQ(one.at(key), other.at(key)) << key;
    EXPECT_EQ(other.at("balance").as_string(), std::to_string(1'000 - 5 * (i + 1)));
  }
  EXPECT_EQ(daemon->stop(), 0);
  EXPECT_EQ(daemon->log(), "");
  village_.expect_sound(3 + kPayments);
}

}  // namespace
}  // namespace coffer::token
