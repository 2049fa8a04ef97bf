// Who may do what over HTTP: real bearer tokens of a provider, API keys, the host's token.
#include "api/auth.h"
#include "token/support/token_server.h"

namespace coffer::token {
namespace {

using http::Method;

class TokenAccess : public TokenServer {
 protected:
  void expect_refused(const std::string& what, const std::string& bearer, int status) {
    const Answer answer = get("/supply", bearer);
    EXPECT_EQ(answer.status, status) << what << " " << bj::serialize(answer.body);
    // Many failures at once would be 429.
    fixture_.clock.advance_ms(600'000);
  }
};

TEST_P(TokenAccess, BearerTokensThatAreNotGoodAreRefused) {
  serve();
  const Person alice = make_person("alice");
  EXPECT_EQ(get("/wallets/" + alice.wallet, alice.bearer).status, 200);
  const std::int64_t now = system_clock().unix_ms() / 1000;
  const std::string good = claims("alice", now + 600, kIssuer, kAudience);
  expect_refused("none", "", 401);
  expect_refused("nonsense", "nonsense", 401);
  expect_refused("expired", bearer_of("alice", {}, -100), 401);
  expect_refused("not yet valid",
                 key_.sign("RS256", claims("alice", now + 600, kIssuer, kAudience,
                                           fmt::format(R"(,"nbf":{})", now + 300))),
                 401);
  expect_refused("another issuer",
                 key_.sign("RS256", claims("alice", now + 600, "https://evil", kAudience)), 401);
  expect_refused("another audience",
                 key_.sign("RS256", claims("alice", now + 600, kIssuer, "other")), 401);
  expect_refused(
      "alg none",
      oidc::encode_base64url(R"({"alg":"none"})") + "." + oidc::encode_base64url(good) + ".", 401);
  // The public key as a shared secret.
  expect_refused("RS256 key as HS256 secret",
                 key_.sign("HS256", R"({"alg":"HS256","kid":"key-1"})", good), 401);
  const oidc::SigningKey other = oidc::SigningKey::rsa("key-1");
  expect_refused("another key of the same id", other.sign("RS256", good), 401);
  const oidc::SigningKey unknown = oidc::SigningKey::rsa("key-2");
  expect_refused("unknown key id", unknown.sign("RS256", good), 401);
  std::string changed = alice.bearer;
  changed[changed.size() / 2] = changed[changed.size() / 2] == 'A' ? 'B' : 'A';
  expect_refused("changed claims", changed, 401);
}

TEST_P(TokenAccess, RotatedKeyIsGoodAndTheOldOneIsNot) {
  serve();
  const Person alice = make_person("alice");
  const oidc::SigningKey next = oidc::SigningKey::ec("key-2");
  const std::int64_t now = system_clock().unix_ms() / 1000;
  const std::string renewed = next.sign("ES256", claims("alice", now + 600, kIssuer, kAudience));
  EXPECT_EQ(get("/supply", renewed).status, 401);
  write_keys(oidc::key_set_of({next.jwk()}));
  int status = 0;
  for (int i = 0; i < 100 && status != 200; ++i) {  // a file is read again after a second
    status = get("/supply", renewed).status;
    fixture_.clock.advance_ms(600'000);
    if (status != 200) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(status, 200);
  EXPECT_EQ(get("/supply", alice.bearer).status, 401);
}

TEST_P(TokenAccess, MemberSeesAndSpendsOnlyTheOwnWallet) {
  serve();
  const Person alice = make_person("alice"), bob = make_person("bob");
  const auto refused = [&](const Answer& answer) {
    EXPECT_EQ(answer.status, 403) << bj::serialize(answer.body);
    EXPECT_EQ(answer.reason(), "not_allowed");
  };
  EXPECT_EQ(get("/wallets/" + alice.wallet + "/balance", alice.bearer).text("balance"), "100");
  refused(get("/wallets/" + bob.wallet, alice.bearer));
  refused(get("/wallets/" + bob.wallet + "/balance", alice.bearer));
  refused(get("/history?wallet=" + bob.wallet, alice.bearer));
  refused(get("/history", alice.bearer));
  refused(get("/statements?wallet=" + bob.wallet, alice.bearer));
  refused(get("/holds?wallet=" + bob.wallet, alice.bearer));
  refused(get("/wallets", alice.bearer));
  refused(get("/users", alice.bearer));
  // Whom to pay is found by name.
  EXPECT_EQ(get("/users?name=bob", alice.bearer).body.at("users").at(0).at("wallet").as_string(),
            bob.wallet);
  refused(post("/transfers", alice.bearer, transfer_body(bob.wallet, alice.wallet, "1")));
  refused(post("/transfers", alice.bearer, transfer_body(bank(), alice.wallet, "1")));
  refused(post("/transfers", alice.bearer, transfer_body(alice.wallet, alice.wallet, "1")));
  refused(post("/batches", alice.bearer,
               fmt::format(R"({{"mode":"each","transfers":[{},{}]}})",
                           transfer_body(alice.wallet, bob.wallet, "1"),
                           transfer_body(bob.wallet, alice.wallet, "1"))));
  EXPECT_EQ(balance(alice.wallet), 100);
  EXPECT_EQ(balance(bob.wallet), 100);
  // What is not there is refused like what is not theirs.
  refused(get("/wallets/" + new_id(), alice.bearer));
  refused(get("/transfers/" + new_id(), alice.bearer));
  refused(get("/holds/" + new_id(), alice.bearer));
  refused(get("/proofs/" + new_id(), alice.bearer));
  const std::string mine = new_id();
  EXPECT_EQ(
      post("/transfers", alice.bearer, transfer_body(alice.wallet, bob.wallet, "1", mine)).status,
      201);
  EXPECT_EQ(get("/transfers/" + mine, bob.bearer).status, 200);
  refused(get("/transfers/" + mine, make_person("carol").bearer));
}

TEST_P(TokenAccess, RolesHoldInOneCommunity) {
  make_community("hamlet");
  serve();
  const std::string there = bearer_of("olga", {"hamlet:operator"});
  EXPECT_EQ(get("/users", there).status, 403);
  EXPECT_EQ(get("/supply", there).status, 403);
  EXPECT_EQ(ask(Method::kGet, "/hamlet/users", there).status, 200);
  // Whether a community is there is told to nobody who has no role in it.
  EXPECT_EQ(ask(Method::kGet, "/nowhere/users", there).status, 403);
  EXPECT_EQ(ask(Method::kGet, "/nowhere/users", host()).status, 404);
  EXPECT_EQ(ask(Method::kGet, "", there).status, 403);
  // Granted by the table instead of a claim, and taken away again.
  const std::string grant =
      fmt::format(R"({{"issuer":"{}","subject":"olga","role":"operator"}})", kIssuer);
  (void)posted("/roles", grant);
  EXPECT_EQ(get("/users", there).status, 200);
  (void)posted("/roles/revoke", grant);
  EXPECT_EQ(get("/users", there).status, 403);
  // A claim that only looks like a role.
  for (const char* claim : {"village", "village:", "village:boss", "*:operator", "village:Operator",
                            "village :operator", ":operator"})
    EXPECT_EQ(get("/users", bearer_of("olga", {claim})).status, 403) << claim;
}

TEST_P(TokenAccess, ApiKeyIsScopedExpiresAndIsRevoked) {
  make_community("hamlet");
  serve();
  const Person alice = make_person("alice");
  const auto make = [&](const std::string& scopes, const std::string& bearer,
                        int duration_ms = 600'000) {
    return post(
        "/keys", bearer,
        fmt::format(R"({{"name":"shop","scopes":[{}],"duration_ms":{}}})", scopes, duration_ms));
  };
  const Answer made = make(R"("read")", host());
  ASSERT_EQ(made.status, 201) << bj::serialize(made.body);
  const std::string secret = made.text("secret");
  EXPECT_TRUE(secret.starts_with("ctk_"));
  EXPECT_EQ(bj::serialize(got("/keys")).find(secret), std::string::npos);
  EXPECT_EQ(get("/wallets", secret).status, 200);
  EXPECT_EQ(post("/wallets/" + alice.wallet + "/freeze", secret, R"({"reason":"x"})").status, 403);
  EXPECT_EQ(make(R"("read")", secret).status, 403);  // keys make no keys
  EXPECT_EQ(ask(Method::kGet, "/hamlet/wallets", secret).status, 401);
  EXPECT_EQ(get("/wallets", secret + "x").status, 401);
  EXPECT_EQ(post("/keys/" + made.text("id") + "/revoke", host(), "").status, 200);
  EXPECT_EQ(get("/wallets", secret).status, 401);
  // Never beyond the maker.
  const std::string olga = bearer_of("olga", {"village:operator"});
  const Answer freezer = make(R"("freeze","users")", olga);
  EXPECT_EQ(freezer.status, 201);
  EXPECT_EQ(make(R"("issue")", olga).status, 403);
  EXPECT_EQ(make(R"("read","transfer")", olga).status, 403);
  EXPECT_EQ(make(R"("read")", alice.bearer).status, 403);
  EXPECT_EQ(make(R"("fly")", host()).status, 400);
  EXPECT_EQ(
      post("/wallets/" + alice.wallet + "/freeze", freezer.text("secret"), R"({"reason":"x"})")
          .status,
      200);
  // Its maker may revoke it; another who is no operator may not.
  const std::string issuer = bearer_of("ivan", {"village:issuer"});
  EXPECT_EQ(post("/keys/" + freezer.text("id") + "/revoke", issuer, "").status, 403);
  const Answer mint = make(R"("issue")", issuer);
  EXPECT_EQ(post("/keys/" + mint.text("id") + "/revoke", issuer, "").status, 200);
  const Answer brief = make(R"("read")", host(), 1'000);
  ASSERT_EQ(brief.status, 201);
  int status = 200;
  for (int i = 0; i < 200 && status == 200; ++i) {
    status = get("/wallets", brief.text("secret")).status;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  EXPECT_EQ(status, 401);
}

TEST_P(TokenAccess, HoldsBelongToPayerRecipientAndOpener) {
  serve();
  const Person alice = make_person("alice"), bob = make_person("bob", 0),
               carol = make_person("carol", 0);
  const auto open = [&](const std::string& bearer, const std::string& payer) {
    return post("/holds", bearer,
                fmt::format(R"({{"id":"{}","wallet":"{}","to":"{}","amount":10,)"
                            R"("duration_ms":600000}})",
                            new_id(), payer, bob.wallet));
  };
  const auto act = [&](const Answer& hold, const char* verb, const std::string& bearer) {
    const std::string body = std::string_view(verb) == "capture"
                                 ? fmt::format(R"({{"transaction":"{}"}})", new_id())
                                 : "{}";
    return post("/holds/" + hold.text("id") + "/" + verb, bearer, body);
  };
  EXPECT_EQ(open(carol.bearer, alice.wallet).status, 403);
  const Answer by_payer = open(alice.bearer, alice.wallet);
  ASSERT_EQ(by_payer.status, 201) << bj::serialize(by_payer.body);
  EXPECT_EQ(get("/holds/" + by_payer.text("id"), bob.bearer).status, 200);
  EXPECT_EQ(get("/holds/" + by_payer.text("id"), carol.bearer).status, 403);
  EXPECT_EQ(act(by_payer, "capture", carol.bearer).status, 403);
  EXPECT_EQ(act(by_payer, "release", carol.bearer).status, 403);
  EXPECT_EQ(act(by_payer, "release", alice.bearer).status, 403);  // a promise
  EXPECT_EQ(get("/wallets/" + alice.wallet, alice.bearer).text("available"), "90");
  EXPECT_EQ(act(by_payer, "capture", bob.bearer).status, 200);
  EXPECT_EQ(balance(bob.wallet), 10);
  const Answer ended = act(by_payer, "release", bob.bearer);
  EXPECT_EQ(ended.status, 409);
  EXPECT_EQ(ended.reason(), "hold_ended");
  // A service with the scope acts on its own holds only.
  const auto key = [&] {
    return post("/keys", host(), R"({"name":"shop","scopes":["hold"],"duration_ms":600000})")
        .text("secret");
  };
  const std::string shop = key(), rival = key();
  const Answer by_shop = open(shop, alice.wallet);
  ASSERT_EQ(by_shop.status, 201);
  EXPECT_EQ(act(by_shop, "release", rival).status, 403);
  EXPECT_EQ(act(by_shop, "release", alice.bearer).status, 403);
  EXPECT_EQ(act(by_shop, "release", shop).status, 200);
  EXPECT_EQ(get("/wallets/" + alice.wallet, alice.bearer).text("available"), "90");
}

TEST_P(TokenAccess, ReadTokenOfTheDataDirectoryOnlyReads) {
  serve();
  const std::string reader = fixture_.token("read-token");
  EXPECT_EQ(get("/wallets", reader).status, 200);
  EXPECT_EQ(get("/audit", reader).status, 200);
  EXPECT_EQ(
      post("/users", reader, fmt::format(R"({{"id":"{}","name":"mallory"}})", new_id())).status,
      403);
  EXPECT_EQ(post("/keys", reader, R"({"name":"k","scopes":["read"],"duration_ms":60000})").status,
            403);
}

TEST_P(TokenAccess, CallersAreLimitedEachForThemselves) {
  config_.edit<Settings>().rate_limit = {.per_second = 1, .burst = 3};
  serve();
  const Person alice = make_person("alice"), bob = make_person("bob");
  int limited = 0;
  http::Response last;
  for (int i = 0; i < 6; ++i) {
    last = send(Method::kGet, "/village/supply", alice.bearer);
    if (last.status == 429) ++limited;
  }
  EXPECT_GE(limited, 2);
  EXPECT_EQ(last.status, 429);
  EXPECT_NE(last.content().find("rate_limited"), std::string::npos);
  EXPECT_TRUE(http::find_header(last.headers, "Retry-After"));
  EXPECT_EQ(get("/supply", bob.bearer).status, 200);
  EXPECT_NE(fixture_.metrics.text().find(R"(coffer_token_refusals_total{why="rate_limited"})"),
            std::string::npos);
}

COFFER_ON_EVERY_ENGINE(TokenAccess);

}  // namespace
}  // namespace coffer::token
