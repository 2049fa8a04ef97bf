// The token ledger over HTTP, on a real server with both engines.
#include <sys/resource.h>

#include "http/test_util.h"
#include "token/log/proof_file.h"
#include "token/support/token_server.h"

namespace coffer::token {
namespace {

using http::Method;

class TokenApi : public TokenServer {
 protected:
  void fits(const bj::value& value, const char* name) const {
    SCOPED_TRACE(name);
    api::expect_fits(value, schema(name));
  }
};

TEST_P(TokenApi, EveryAnswerIsAsDeclared) {
  serve();
  const Person alice = make_person("alice"), bob = make_person("bob");
  const bj::value user = posted("/users", fmt::format(R"({{"id":"{}","name":"carol"}})", new_id()));
  fits(user, "TokenUser");
  const std::string carol = "/users/" + std::string(user.at("id").as_string());
  fits(posted(carol + "/rename", R"({"name":"carol-b"})"), "TokenUser");
  const std::string identity = R"({"issuer":"https://id.example.org","subject":"7"})";
  fits(posted(carol + "/identities", identity), "TokenIdentityLinked");
  fits(got(carol + "/identities"), "TokenIdentities");
  fits(got(carol + "/identities").at("identities").at(0), "TokenIdentity");
  fits(posted("/identities/unlink", identity), "TokenIdentityLinked");
  fits(posted(carol + "/delete", R"({"reason":"moved"})"), "TokenUser");
  fits(posted(carol + "/reactivate", "{}"), "TokenUser");
  fits(got("/users"), "TokenUserPage");
  fits(posted("/system-accounts", fmt::format(R"({{"id":"{}","name":"prizes"}})", new_id())),
       "TokenSystemAccount");
  fits(got("/system-accounts"), "TokenSystemAccounts");
  const std::string wallet = "/wallets/" + alice.wallet;
  fits(got("/wallets"), "TokenWalletPage");
  fits(got(wallet), "TokenWallet");
  fits(got(wallet + "/balance"), "TokenBalance");
  fits(got(wallet + "/balance?at=2020-01-01"), "TokenBalance");
  fits(posted(wallet + "/freeze", R"({"reason":"lost"})"), "TokenFrozen");
  fits(posted(wallet + "/unfreeze", R"({"reason":"found"})"), "TokenFrozen");
  fits(ask(Method::kPut, "/village" + wallet + "/limits", host(), R"({"per_day":"50"})").body,
       "TokenLimits");

  const std::string id = new_id();
  fits(posted("/transfers",
              fmt::format(R"({{"id":"{}","from":"{}","to":"{}","amount":"5","memo":"lunch",)"
                          R"("metadata":{{"table":4}}}})",
                          id, alice.wallet, bob.wallet)),
       "TokenApplied");
  const bj::value sent = got("/transfers/" + id);
  fits(sent, "TokenTransaction");
  EXPECT_EQ(sent.at("memo").as_string(), "lunch");
  EXPECT_EQ(sent.at("metadata").at("table").to_number<int>(), 4);
  EXPECT_EQ(sent.at("amount").as_string(), "5");
  fits(posted("/reversals",
              fmt::format(R"({{"transaction":"{}","id":"{}","reason":"mistake"}})", id, new_id())),
       "TokenApplied");
  fits(posted("/transfers/" + id + "/erase", R"({"reason":"asked"})"), "TokenErased");
  EXPECT_TRUE(got("/transfers/" + id).at("memo").is_null());
  const bj::value batch =
      posted("/batches", fmt::format(R"({{"mode":"each","transfers":[{},{}]}})",
                                     transfer_body(alice.wallet, bob.wallet, "1"),
                                     transfer_body(alice.wallet, bob.wallet, "\"100000\"")));
  fits(batch, "TokenBatch");
  fits(batch.at("results").at(0), "TokenBatchResult");
  fits(batch.at("results").at(1), "TokenBatchResult");
  fits(got("/history"), "TokenHistory");
  const bj::value statement = got("/statements?wallet=" + alice.wallet);
  fits(statement, "TokenStatement");
  fits(statement.at("lines").at(0), "TokenStatementLine");

  const std::string hold_id = new_id();
  fits(posted("/holds", fmt::format(R"({{"id":"{}","wallet":"{}","to":"{}","amount":3,)"
                                    R"("duration_ms":60000}})",
                                    hold_id, alice.wallet, bob.wallet)),
       "TokenHold");
  fits(got("/holds?wallet=" + alice.wallet), "TokenHoldPage");
  fits(posted("/holds/" + hold_id + "/capture",
              fmt::format(R"({{"transaction":"{}","amount":"2"}})", new_id())),
       "TokenHold");
  fits(got("/holds/" + hold_id), "TokenHold");

  fits(got("/supply"), "TokenSupply");
  fits(posted("/checks", ""), "TokenCheck");
  fits(got("/log"), "TokenLog");
  fits(posted("/keys", R"({"name":"shop","scopes":["read"],"duration_ms":60000})"),
       "TokenMadeApiKey");
  fits(got("/keys").at("keys").at(0), "TokenApiKey");
  fits(posted("/roles", R"({"issuer":"https://x","subject":"1","role":"auditor"})"), "TokenRole");
  fits(got("/roles").at("roles").at(0), "TokenRoleGrant");
  fits(posted("/roles/revoke", R"({"issuer":"https://x","subject":"1","role":"auditor"})"),
       "TokenRole");
  fits(got("/audit"), "TokenAuditPage");
  fits(got("/audit").at("entries").at(0), "TokenAuditEntry");
  fits(ask(Method::kGet, "", host()).body, "TokenCommunities");
}

TEST_P(TokenApi, SameTransferAgainAnswersAsTheFirstTime) {
  serve();
  const Person alice = make_person("alice"), bob = make_person("bob", 0);
  const std::string id = new_id();
  const std::string body = transfer_body(alice.wallet, bob.wallet, "30", id);
  const Answer first = post("/transfers", alice.bearer, body);
  ASSERT_EQ(first.status, 201) << bj::serialize(first.body);
  EXPECT_EQ(first.text("balance"), "70");
  EXPECT_FALSE(first.body.at("is_repeat").as_bool());
  const Answer again = post("/transfers", alice.bearer, body);
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(again.body.at("is_repeat").as_bool());
  EXPECT_EQ(again.text("balance"), "70");
  EXPECT_EQ(again.body.at("created_unix_ms"), first.body.at("created_unix_ms"));
  const Answer other =
      post("/transfers", alice.bearer, transfer_body(alice.wallet, bob.wallet, "31", id));
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.reason(), "id_taken");
  EXPECT_EQ(balance(alice.wallet), 70);
  EXPECT_EQ(balance(bob.wallet), 30);
}

// Far more than there are workers wait for their group at the same time.
TEST_P(TokenApi, ManyTransfersWaitAtOnce) {
  serve();
  constexpr int kPayers = 16, kEach = 8;
  const Person shop = make_person("shop", 0);
  std::vector<Person> payers;
  payers.reserve(kPayers);
  for (int i = 0; i < kPayers; ++i) payers.push_back(make_person(fmt::format("payer-{}", i)));
  std::atomic<int> applied{0};
  std::vector<std::thread> threads;
  threads.reserve(kPayers);
  for (const Person& payer : payers)
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i)
        if (post("/transfers", payer.bearer, transfer_body(payer.wallet, shop.wallet, "2"))
                .status == 201)
          ++applied;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(applied, kPayers * kEach);
  EXPECT_EQ(balance(shop.wallet), 2 * kPayers * kEach);
  EXPECT_TRUE(posted("/checks", "").at("is_consistent").as_bool());
}

// While nothing can be committed, and the four workers are free meanwhile.
TEST_P(TokenApi, ThousandTransfersWaitWithoutHoldingWorkers) {
  if (!is_sqlite()) GTEST_SKIP() << "a locked wallet does not stop others on PostgreSQL";
  constexpr std::size_t kWaiting = 1'100;
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 8'192);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_cur < 4 * kWaiting) GTEST_SKIP() << "too few files may be open here";
  serve();
  const Person alice = make_person("alice", 5'000), bob = make_person("bob", 0);
  const auto other = OpenLedger::open(config_).value();
  auto connection = other.database->acquire(sql::Access::kWrite).value();
  std::optional<sql::Transaction> writer = connection.begin().value();
  ASSERT_TRUE(writer->execute("UPDATE settings SET value = value"));
  std::vector<std::unique_ptr<http::RawClient>> clients;
  for (std::size_t i = 0; i < kWaiting; ++i) {
    const std::string body = transfer_body(alice.wallet, bob.wallet, "1");
    clients.push_back(std::make_unique<http::RawClient>(fixture_.service->address()));
    clients.back()->send(
        fmt::format("POST /api/v1/tokens/village/transfers HTTP/1.1\r\n"
                    "Host: localhost\r\nAuthorization: Bearer {}\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    fixture_.token(), body.size(), body));
  }
  // All of them are there but for the group that waits for the writer.
  for (int i = 0; i < 400 && store_->group_stats().waiting < kWaiting - 256; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GE(store_->group_stats().waiting, kWaiting - 256);
  EXPECT_EQ(fixture_.get("/health/live").status, 200);
  EXPECT_EQ(get("/wallets/" + alice.wallet, alice.bearer).text("balance"), "5000");
  writer->rollback();
  writer.reset();
  std::size_t applied = 0;
  for (const auto& client : clients)
    if (client->read_until("is_repeat").find(" 201 ") != std::string::npos) ++applied;
  EXPECT_EQ(applied, kWaiting);
  EXPECT_EQ(balance(bob.wallet), static_cast<std::int64_t>(kWaiting));
  EXPECT_LT(store_->group_stats().groups, kWaiting / 4);  // they were committed together
}

TEST_P(TokenApi, StatementIsCsvWhereThatIsAskedFor) {
  serve();
  const Person alice = make_person("alice");
  const std::string path = "/village/statements?wallet=" + alice.wallet;
  const http::Response by_header =
      send(Method::kGet, path, alice.bearer, "", {{"Accept", "text/csv"}});
  EXPECT_EQ(by_header.content_type, "text/csv; charset=utf-8");
  const std::string text(by_header.content());
  EXPECT_TRUE(text.starts_with("booked_unix_ms,version,transaction,")) << text;
  EXPECT_NE(text.find(",100,100,1,"), std::string::npos) << text;
  const http::Response by_format = send(Method::kGet, path + "&format=csv", alice.bearer);
  EXPECT_EQ(by_format.content(), text);
  EXPECT_EQ(send(Method::kGet, path + "&format=xml", alice.bearer).status, 400);
}

TEST_P(TokenApi, BatchOfManyInOneRequest) {
  serve();
  const Person alice = make_person("alice", 9'000), bob = make_person("bob", 0);
  std::string list;
  for (std::size_t i = 0; i < kMaxBatch - 2'000; ++i)
    list += (i == 0 ? "" : ",") + transfer_body(alice.wallet, bob.wallet, "1");
  const std::string body = R"({"mode":"all","transfers":[)" + list + "]}";
  EXPECT_GT(body.size(), 1u << 20);  // above what other routes take
  const Answer answer = post("/batches", alice.bearer, body);
  ASSERT_EQ(answer.status, 200) << bj::serialize(answer.body).substr(0, 500);
  EXPECT_EQ(answer.body.at("applied").to_number<int>(), 8'000);
  EXPECT_EQ(balance(bob.wallet), 8'000);
}

TEST_P(TokenApi, BatchOfAllAppliesNothingIfOneIsRefused) {
  serve();
  const Person alice = make_person("alice"), bob = make_person("bob", 0);
  const Answer answer = post("/batches", alice.bearer,
                             fmt::format(R"({{"mode":"all","transfers":[{},{}]}})",
                                         transfer_body(alice.wallet, bob.wallet, "60"),
                                         transfer_body(alice.wallet, bob.wallet, "60")));
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.reason(), "insufficient_balance");
  EXPECT_NE(answer.text("detail").find("item 2"), std::string::npos);
  EXPECT_EQ(balance(alice.wallet), 100);
}

TEST_P(TokenApi, EventsByPositionInTheLogAreResumed) {
  serve();
  const Person alice = make_person("alice"), bob = make_person("bob");
  const auto listen = [&](http::RawClient& raw, const std::string& after) {
    raw.send(http::get_request("/api/v1/tokens/village/events?after=" + after,
                               "Authorization: Bearer " + fixture_.token() + "\r\n"));
  };
  http::RawClient all(fixture_.service->address());
  listen(all, "0");
  const std::string id = new_id();
  (void)posted("/transfers", transfer_body(alice.wallet, bob.wallet, "7", id));
  const std::string seen = all.read_until(id);
  EXPECT_NE(seen.find("text/event-stream"), std::string::npos);
  EXPECT_NE(seen.find("id: 1\nevent: "), std::string::npos) << seen;
  const std::uint64_t size = got("/log").at("size").to_number<std::uint64_t>();
  http::RawClient later(fixture_.service->address());
  listen(later, std::to_string(size - 1));
  const std::string last = later.read_until(fmt::format("id: {}\nevent: transaction\n", size));
  EXPECT_EQ(last.find(fmt::format("id: {}\nevent", size - 1)), std::string::npos);
}

TEST_P(TokenApi, MemberProvesAPaymentOffLine) {
  serve();
  const Person alice = make_person("alice"), bob = make_person("bob");
  const std::string id = new_id();
  (void)posted("/transfers", transfer_body(alice.wallet, bob.wallet, "7", id));
  Answer proof;
  for (int i = 0; i < 200 && proof.status != 200; ++i) {
    proof = get("/proofs/" + id, alice.bearer);
    if (proof.status == 200) break;
    ASSERT_EQ(proof.status, 409) << bj::serialize(proof.body);
    EXPECT_EQ(proof.reason(), "not_logged_yet");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ASSERT_EQ(proof.status, 200);
  const auto checked = check_proof(bj::serialize(proof.body),
                                   {.community = "village", .transaction = parse_uuid(id).value()});
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->entry->transaction.amount, 7);
  EXPECT_EQ(get("/proofs/" + id, make_person("carol").bearer).status, 403);
  const bj::value checkpoints = got("/checkpoints");
  fits(checkpoints.at("checkpoints").at(0), "TokenCheckpoint");
  const auto size = checkpoints.at("checkpoints").as_array().back().at("size").to_number<int>();
  const Answer consistency = get(fmt::format("/consistency?older={}", size), alice.bearer);
  EXPECT_EQ(consistency.status, 200) << bj::serialize(consistency.body);
  EXPECT_TRUE(check_proof(bj::serialize(consistency.body)));
}

TEST_P(TokenApi, MaintenanceCountsChecksAndExpires) {
  maintenance_options_ = {.watch_ms = 20, .expire_ms = 20, .count_ms = 20, .check_ms = 20};
  serve();
  const Person alice = make_person("alice"), bob = make_person("bob");
  const std::string hold = new_id();
  (void)posted("/holds", fmt::format(R"({{"id":"{}","wallet":"{}","to":"{}","amount":3,)"
                                     R"("duration_ms":50}})",
                                     hold, alice.wallet, bob.wallet));
  (void)posted("/wallets/" + bob.wallet + "/freeze", R"({"reason":"x"})");
  const std::vector<std::string> lines = {
      R"(coffer_token_frozen_balance{community="village"} 100)",
      R"(coffer_token_frozen_wallets{community="village"} 1)",
      R"(coffer_token_wallets{community="village"} 3)",
      R"(coffer_token_system_wallet_changes{community="village"} 3)",
      R"(coffer_token_consistent{community="village"} 1)",
      R"(coffer_token_orphan_wallets{community="village"} 0)",
      R"(coffer_token_circulation{community="village"} 200)",
      R"(coffer_token_unlogged{community="village"} 0)",
      R"(coffer_token_grouped_transfers_total{community="village"} 2)"};
  // Each is counted by a task of its own.
  const auto missing = [&] {
    const std::string metrics = fixture_.metrics.text();
    std::string list;
    for (const std::string& line : lines)
      if (metrics.find(line + "\n") == std::string::npos) list += line + "\n";
    return list;
  };
  const auto is_expired = [&] {
    return got("/holds/" + hold).at("state").as_string() == "expired";
  };
  for (int i = 0; i < 400 && (!is_expired() || !missing().empty()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  EXPECT_TRUE(is_expired());
  EXPECT_EQ(missing(), "");
  fits(got("/checks"), "TokenCheck");
  fits(got("/statistics"), "TokenStatistics");
  EXPECT_TRUE(maintenance_->not_ready().empty());
  EXPECT_EQ(maintenance_->status().communities, 1u);
}

TEST_P(TokenApi, NewCommunityIsServedWithoutARestart) {
  serve();
  EXPECT_EQ(ask(Method::kGet, "/hamlet/supply", host()).status, 404);
  make_community("hamlet");
  Answer answer;
  for (int i = 0; i < 200 && answer.status != 200; ++i) {
    answer = ask(Method::kGet, "/hamlet/supply", host());
    if (answer.status != 200) std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(ask(Method::kGet, "", host()).body.at("communities").as_array().size(), 2u);
}

COFFER_ON_EVERY_ENGINE(TokenApi);

TEST(TokenApiOff, EveryRouteAnswers503) {
  api::Fixture fixture;
  fixture.options.more_routes = [](api::RouteTable& table) { add_token_routes(table, {}); };
  fixture.start();
  for (const char* path : {"", "/village/supply", "/village/events", "/village/users"}) {
    const http::Response answer =
        fixture.get(std::string("/api/v1/tokens") + path, api::bearer(fixture.token()));
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_NE(answer.content().find("token.enabled"), std::string::npos) << answer.content();
  }
}

}  // namespace
}  // namespace coffer::token
