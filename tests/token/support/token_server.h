// For tests of the token ledger's routes: a community on either engine, and a real server over it.
#pragma once

#include "api/test_schema.h"
#include "api/test_util.h"
#include "base/result.h"
#include "oidc/test_keys.h"
#include "sql/test_engines.h"
#include "token/commands/open_ledger.h"
#include "token/log/key.h"
#include "token/routes/events.h"
#include "token/routes/maintenance.h"
#include "token/routes/tokens.h"

namespace coffer::token {

namespace bj = boost::json;

// A request that is expected to be answered so.
struct Answer {
  int status = 0;
  bj::value body;

  std::string text(const char* key) const { return std::string(body.at(key).as_string()); }
  std::string code() const { return text("code"); }
  // The reason of a refusal; "" if it has none.
  std::string reason() const {
    const auto* reason = body.as_object().if_contains("reason");
    return reason != nullptr && reason->is_string() ? std::string(reason->as_string()) : "";
  }
};

class TokenServer : public sql::test::EngineTest {
 protected:
  static constexpr const char* kIssuer = "https://id.example.org";
  static constexpr const char* kAudience = "coffer";

  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped()) return;
    config_.data_dir = data_dir();
    Settings& settings = config_.edit<Settings>();
    settings.enabled = true;
    settings.community = "village";
    if (!is_sqlite()) settings.database = options_.location;
    settings.rate_limit = {.per_second = 100'000, .burst = 100'000};
    settings.oidc.issuer = kIssuer;
    settings.oidc.audience = kAudience;
    settings.oidc.jwks_file = (dir_.path() / "jwks.json").string();
    write_keys(oidc::key_set_of({key_.jwk()}));
    make_community("village");
  }
  void TearDown() override {
    fixture_.service.reset();
    writes_.reset();
    maintenance_.reset();
    events_.reset();
  }

  virtual std::string data_dir() const { return (dir_.path() / "data").string(); }

  void write_keys(const std::string& text) const {
    ASSERT_TRUE(write_file_atomically(dir_.path() / "jwks.json", as_bytes(text)));
  }
  Seeded make_community(const std::string& name) const {
    config::Config config = config_;
    config.edit<Settings>().community = name;
    const auto ledger = OpenLedger::make(config);
    if (!ledger) ADD_FAILURE() << ledger.error().message;
    const Seeded seeded = ledger->store->seed({}, {"test"}).value();
    EXPECT_TRUE(init_log_key(ledger->store->ledger(), config_.data_dir));
    return seeded;
  }
  void serve() {
    communities_ = Communities::open(config_, system_clock()).value();
    access_ = Access::open(config_.of<Settings>(), *access_clock_).value();
    access_->set_metrics(fixture_.metrics);
    events_ = std::make_unique<CommunityEvents>();
    writes_ = std::make_unique<Writes>(system_clock());
    maintenance_ = std::make_unique<Maintenance>(*communities_, config_, fixture_.metrics,
                                                 system_clock(), maintenance_options_);
    fixture_.options.more_routes = [this](api::RouteTable& table) {
      add_token_routes(table, {communities_.get(), access_.get(), events_.get(), writes_.get(),
                               [this](auto name) { return maintenance_->checked(name); }});
    };
    fixture_.options.http.limits.connections = 4'096;
    fixture_.start();
    store_ = communities_->find("village").value();
    bank_ = store_->system_accounts().value().front().wallet;
    openapi_ = bj::parse(bj::string_view(fixture_.get("/openapi.json").content()));
  }

  // ---- who asks ----

  // Of somebody at the provider; `roles` as "village:member". Valid now, unless `more` says else.
  std::string bearer_of(const std::string& subject, const std::vector<std::string>& roles = {},
                        std::int64_t lives_s = 600) const {
    const std::int64_t now = system_clock().unix_ms() / 1000;
    std::string list;
    for (const std::string& role : roles)
      list += fmt::format("{}\"{}\"", list.empty() ? "" : ",", role);
    return key_.sign("RS256", claims(subject, now + lives_s, kIssuer, kAudience,
                                     fmt::format(R"(,"coffer_roles":[{}])", list)));
  }
  static std::string claims(const std::string& subject, std::int64_t expires_s,
                            const std::string& issuer, const std::string& audience,
                            const std::string& more = "") {
    return fmt::format(R"({{"iss":"{}","aud":"{}","sub":"{}","exp":{}{}}})", issuer, audience,
                       subject, expires_s, more);
  }
  std::string host() const { return fixture_.token(); }

  // ---- what they ask ----

  Answer ask(http::Method method, const std::string& path, const std::string& bearer,
             std::string body = "") const {
    const http::Response response = send(method, path, bearer, std::move(body));
    Answer answer{response.status, nullptr};
    boost::system::error_code error;
    answer.body = bj::parse(bj::string_view(response.content()), error);
    return answer;
  }
  http::Response send(http::Method method, const std::string& path, const std::string& bearer,
                      std::string body = "", http::Fields headers = {}) const {
    http::ClientOptions client;
    client.headers = std::move(headers);
    if (!bearer.empty()) client.headers.push_back({"Authorization", "Bearer " + bearer});
    client.body = std::move(body);
    auto response =
        http::request(method, fixture_.service->url() + "/api/v1/tokens" + path, client);
    if (!response) ADD_FAILURE() << path << ": " << response.error().message;
    if (!response) return {};
    if (!openapi_.is_null())
      api::expect_declared(openapi_, http::name(method), "/api/v1/tokens" + path, response->status);
    return std::move(*response);
  }
  Answer get(const std::string& path, const std::string& bearer) const {
    return ask(http::Method::kGet, "/village" + path, bearer);
  }
  Answer post(const std::string& path, const std::string& bearer, const std::string& body) const {
    return ask(http::Method::kPost, "/village" + path, bearer, body);
  }
  // As the host, expecting success.
  bj::value got(const std::string& path) const {
    const Answer answer = get(path, host());
    EXPECT_EQ(answer.status, 200) << path << " " << bj::serialize(answer.body);
    return answer.body;
  }
  bj::value posted(const std::string& path, const std::string& body) const {
    const Answer answer = post(path, host(), body);
    EXPECT_TRUE(answer.status == 200 || answer.status == 201)
        << path << " " << answer.status << " " << bj::serialize(answer.body);
    return answer.body;
  }

  static std::string new_id() { return to_string(random_uuid()); }
  static std::string transfer_body(const std::string& from, const std::string& to,
                                   const std::string& amount, const std::string& id = new_id()) {
    return fmt::format(R"({{"id":"{}","from":"{}","to":"{}","amount":{}}})", id, from, to, amount);
  }
  std::string bank() const { return to_string(bank_); }

  // A user with tokens, and an identity at the provider with the user's name as subject.
  struct Person {
    std::string id, wallet, bearer;
  };
  Person make_person(const std::string& name, std::int64_t tokens = 100) const {
    const User user = store_->create_user(random_uuid(), name, {"test"}).value();
    EXPECT_TRUE(store_->link_identity(user.id, {kIssuer, name}, {"test"}));
    if (tokens > 0) {
      EXPECT_TRUE(store_->transfer(
          {.id = random_uuid(), .from = bank_, .to = user.wallet, .amount = tokens}, {"test"}));
    }
    return {to_string(user.id), to_string(user.wallet), bearer_of(name)};
  }
  std::int64_t balance(const std::string& wallet) const {
    return store_->find_wallet(parse_uuid(wallet).value()).value().value().balance;
  }
  bj::value schema(const std::string& name) const {
    return openapi_.at("components").at("schemas").at(name);
  }

  config::Config config_;
  oidc::SigningKey key_ = oidc::SigningKey::rsa("key-1");
  MaintenanceOptions maintenance_options_;
  const Clock* access_clock_ = &system_clock();
  api::Fixture fixture_;
  std::unique_ptr<Communities> communities_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<CommunityEvents> events_;
  std::unique_ptr<Writes> writes_;
  std::unique_ptr<Maintenance> maintenance_;
  Store* store_ = nullptr;
  Uuid bank_{};
  bj::value openapi_;
};

}  // namespace coffer::token
