// The routes of a community, asked with bearer tokens of a real OpenID Connect provider.
#include <openssl/core_names.h>
#include <openssl/param_build.h>

#include "base/file.h"
#include "oidc/base64url.h"
#include "support/oidc_provider.h"
#include "token/support/token_server.h"

namespace coffer::token {
namespace {

using http::Method;

// The RSA key of a key set, as a file of PEM: what an attacker takes for a shared secret.
std::string public_pem_of(const std::string& key_set) {
  const bj::value key = bj::parse(key_set).at("keys").at(0);
  const auto number = [&](const char* member) {
    const Bytes bytes = oidc::decode_base64url(std::string(key.at(member).as_string())).value();
    return BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr);
  };
  BIGNUM* const modulus = number("n");
  BIGNUM* const exponent = number("e");
  OSSL_PARAM_BLD* const builder = OSSL_PARAM_BLD_new();
  CHECK(OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, modulus) == 1);
  CHECK(OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, exponent) == 1);
  OSSL_PARAM* const parameters = OSSL_PARAM_BLD_to_param(builder);
  EVP_PKEY_CTX* const context = EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr);
  EVP_PKEY* made = nullptr;
  CHECK(EVP_PKEY_fromdata_init(context) == 1);
  CHECK(EVP_PKEY_fromdata(context, &made, EVP_PKEY_PUBLIC_KEY, parameters) == 1);
  BIO* const out = BIO_new(BIO_s_mem());
  CHECK(PEM_write_bio_PUBKEY(out, made) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  std::string pem(data, static_cast<std::size_t>(size));
  BIO_free(out);
  EVP_PKEY_free(made);
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(parameters);
  OSSL_PARAM_BLD_free(builder);
  BN_free(modulus);
  BN_free(exponent);
  return pem;
}

// "header.claims.signature", taken apart.
struct Parts {
  std::string header, claims, signature;
};
Parts parts_of(const std::string& bearer) {
  const std::size_t first = bearer.find('.'), second = bearer.rfind('.');
  return {bearer.substr(0, first), bearer.substr(first + 1, second - first - 1),
          bearer.substr(second + 1)};
}

class TokenProvider : public TokenServer {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_OIDC_PROVIDER_OR_SKIP();
    TokenServer::SetUp();
    if (IsSkipped()) return;
    provider_.start();
    access_clock_ = &clock_;
    OidcSettings& oidc = config_.edit<Settings>().oidc;
    oidc.issuer = provider_.issuer();
    oidc.jwks_file.clear();
    oidc.roles_claim = "roles";  // the provider's, which names no community
  }

  // A user who signs in as this client of the provider.
  Person make_member(const std::string& client, std::int64_t tokens = 100) const {
    const User user = store_->create_user(random_uuid(), client, {"test"}).value();
    EXPECT_TRUE(store_->link_identity(user.id, {provider_.issuer(), client}, {"test"}));
    EXPECT_TRUE(store_->transfer(
        {.id = random_uuid(), .from = bank_, .to = user.wallet, .amount = tokens}, {"test"}));
    return {to_string(user.id), to_string(user.wallet), provider_.access_token(client)};
  }
  std::string grant(const std::string& client, const std::string& role) const {
    return fmt::format(R"({{"issuer":"{}","subject":"{}","role":"{}"}})", provider_.issuer(),
                       client, role);
  }

  // All that a request could have changed.
  std::string state() const {
    std::string text;
    for (const char* path : {"/wallets", "/users", "/system-accounts", "/audit", "/keys", "/roles"})
      text += bj::serialize(got(path)) + "\n";
    bj::value history = got("/history");
    for (bj::value& each : history.at("transactions").as_array())
      each.as_object().erase("log_position");  // comes by itself
    return text + bj::serialize(history);
  }
  // Many failures of one address would be answered with 429.
  void forget_failures() { fixture_.clock.advance_ms(600'000); }

  struct Call {
    Method method = Method::kGet;
    std::string path, body = {};
  };
  // What a member may do, and what only others may.
  std::vector<Call> calls_of(const Person& payer, const Person& payee) const {
    const std::string transfer = transfer_body(payer.wallet, payee.wallet, "1");
    return {
        {Method::kGet, "/wallets/" + payer.wallet},
        {Method::kGet, "/wallets/" + payer.wallet + "/balance"},
        {Method::kGet, "/history?wallet=" + payer.wallet},
        {Method::kGet, "/statements?wallet=" + payer.wallet},
        {Method::kGet, "/supply"},
        {Method::kPost, "/transfers", transfer},
        {Method::kPost, "/batches", fmt::format(R"({{"mode":"all","transfers":[{}]}})", transfer)},
        {Method::kPost, "/holds", hold_body(payer, payee)},
        {Method::kPost, "/users", fmt::format(R"({{"id":"{}","name":"eve"}})", new_id())},
        {Method::kPost, "/keys", R"({"name":"k","scopes":["read"],"duration_ms":60000})"},
        {Method::kPost, "/roles", grant("member1", "operator")}};
  }
  static std::string hold_body(const Person& payer, const Person& payee) {
    return fmt::format(R"({{"id":"{}","wallet":"{}","to":"{}","amount":"1","duration_ms":60000}})",
                       new_id(), payer.wallet, payee.wallet);
  }
  // Every one of these is answered so, and nothing changes.
  void expect_refused(const std::vector<Call>& calls, const std::string& bearer, int status,
                      const std::string& words) {
    const std::string before = state();
    for (const Call& call : calls) {
      SCOPED_TRACE(call.path);
      const Answer answer = ask(call.method, "/village" + call.path, bearer, call.body);
      EXPECT_EQ(answer.status, status) << bj::serialize(answer.body);
      if (answer.status < 400) continue;
      EXPECT_NE(answer.text("detail").find(words), std::string::npos) << answer.text("detail");
      EXPECT_EQ(answer.text("detail").find(bearer), std::string::npos);
      forget_failures();
    }
    EXPECT_EQ(state(), before);
  }

  test::OidcProvider provider_;
  ManualClock clock_{system_clock().unix_ms()};  // of whoever checks bearer tokens
};

TEST_P(TokenProvider, MemberUsesTheOwnWalletOnly) {
  serve();
  const Person anna = make_member("member1"), ben = make_member("member2");
  EXPECT_EQ(get("/wallets/" + anna.wallet + "/balance", anna.bearer).text("balance"), "100");
  const Answer sent = post("/transfers", anna.bearer, transfer_body(anna.wallet, ben.wallet, "30"));
  ASSERT_EQ(sent.status, 201) << bj::serialize(sent.body);
  EXPECT_EQ(sent.text("balance"), "70");
  EXPECT_EQ(post("/holds", anna.bearer, hold_body(anna, ben)).status, 201);
  EXPECT_EQ(balance(anna.wallet), 70);
  EXPECT_EQ(balance(ben.wallet), 130);

  std::vector<Call> of_ben = calls_of(ben, anna);
  std::erase_if(of_ben, [](const Call& call) { return call.path == "/supply"; });
  expect_refused(of_ben, anna.bearer, 403, "");
  // Linked to no user, and the provider's role names no community.
  for (const char* client : {"operator", "issuer", "auditor"})
    expect_refused(calls_of(anna, ben), provider_.access_token(client), 403, "");
}

TEST_P(TokenProvider, BearerTokensThatAreNotGoodChangeNothing) {
  serve();
  const Person anna = make_member("member1"), ben = make_member("member2");
  const std::vector<Call> calls = calls_of(anna, ben);
  const auto expect_good = [&] {
    EXPECT_EQ(get("/wallets/" + anna.wallet, anna.bearer).status, 200);
  };
  expect_good();
  const auto expect_all_refused = [&](const char* what, const std::string& bearer,
                                      const std::string& words) {
    SCOPED_TRACE(what);
    ASSERT_FALSE(bearer.empty());
    expect_refused(calls, bearer, 401, words);
  };
  clock_.skew_ms(700'000);
  expect_all_refused("expired", anna.bearer, "has expired");
  clock_.skew_ms(-1'400'000);
  expect_all_refused("not yet valid", anna.bearer, "in the future");
  clock_.skew_ms(700'000);
  expect_good();

  const Parts good = parts_of(anna.bearer);
  const std::string claims(as_text(oidc::decode_base64url(good.claims).value()));
  const std::string header(as_text(oidc::decode_base64url(good.header).value()));
  const std::string key_id(bj::parse(header).at("kid").as_string());
  expect_all_refused("alg none",
                     oidc::encode_base64url(R"({"alg":"none"})") + "." + good.claims + ".",
                     "accepted algorithm");
  const std::string input =
      oidc::encode_base64url(fmt::format(R"({{"alg":"HS256","kid":"{}"}})", key_id)) + "." +
      good.claims;
  for (const std::string& secret : {public_pem_of(provider_.key_set()), provider_.key_set()})
    expect_all_refused("RS256 key as HS256 secret",
                       input + "." + oidc::encode_base64url(oidc::hmac_sha256(secret, input)),
                       "accepted algorithm");
  const oidc::SigningKey forger = oidc::SigningKey::rsa(key_id);
  expect_all_refused("another key of the same id", forger.sign("RS256", header, claims),
                     "signature of the bearer token is wrong");
  const oidc::SigningKey unknown = oidc::SigningKey::rsa("unknown");
  expect_all_refused("unknown key id", unknown.sign("RS256", claims), "not the issuer's");
  expect_all_refused("claims of another member",
                     good.header + "." + parts_of(ben.bearer).claims + "." + good.signature,
                     "signature of the bearer token is wrong");

  // Another provider, which has clients of the same names.
  test::OidcProvider stranger;
  stranger.start();
  expect_all_refused("wrong issuer", stranger.access_token("member1"), "not the issuer's");
  expect_good();
}

TEST_P(TokenProvider, RotatedKeyIsAcceptedWithoutRestart) {
  serve();
  const Person anna = make_member("member1"), ben = make_member("member2");
  const auto pay = [&](const std::string& bearer) {
    return post("/transfers", bearer, transfer_body(anna.wallet, ben.wallet, "1")).status;
  };
  EXPECT_EQ(pay(anna.bearer), 201);
  provider_.rotate();
  const std::string renewed = provider_.access_token("member1");
  clock_.advance_ms(10'000);  // the provider is asked no more often
  EXPECT_EQ(pay(renewed), 201);
  EXPECT_EQ(balance(anna.wallet), 98);
  expect_refused(calls_of(anna, ben), anna.bearer, 401, "not the issuer's");
  // From the same issuer, for another service.
  provider_.start({.audience = "another"});
  const std::string for_another = provider_.access_token("member1");
  clock_.advance_ms(10'000);
  expect_refused(calls_of(anna, ben), for_another, 401, "another audience");
}

TEST_P(TokenProvider, SameKeyOfAnotherIssuerIsRefused) {
  // The key set of the provider under another name, so that only the claim tells them apart.
  OidcSettings& oidc = config_.edit<Settings>().oidc;
  oidc.issuer = "https://login.example";
  oidc.jwks_file = (dir_.path() / "provider.json").string();
  ASSERT_TRUE(write_file_atomically(oidc.jwks_file, as_bytes(provider_.key_set())));
  serve();
  const Person anna = make_member("member1"), ben = make_member("member2");
  expect_refused(calls_of(anna, ben), anna.bearer, 401, "another issuer");
}

TEST_P(TokenProvider, RolesOfAnotherCommunityAreRefused) {
  make_community("hamlet");
  serve();
  const Person anna = make_member("member1"), ben = make_member("member2");
  for (const char* role : {"operator", "issuer", "auditor"}) {
    const Answer granted = ask(Method::kPost, "/hamlet/roles", host(), grant(role, role));
    ASSERT_EQ(granted.status, 200) << bj::serialize(granted.body);
  }
  const std::string operator_of_hamlet = provider_.access_token("operator"),
                    issuer_of_hamlet = provider_.access_token("issuer"),
                    auditor_of_hamlet = provider_.access_token("auditor");
  // There they may.
  EXPECT_EQ(ask(Method::kPost, "/hamlet/users", operator_of_hamlet,
                fmt::format(R"({{"id":"{}","name":"carol"}})", new_id()))
                .status,
            201);
  const std::string pool(ask(Method::kGet, "/hamlet/system-accounts", host())
                             .body.at("system_accounts")
                             .at(0)
                             .at("wallet")
                             .as_string());
  EXPECT_EQ(
      ask(Method::kPost, "/hamlet/transfers", issuer_of_hamlet, transfer_body(pool, pool, "5"))
          .status,
      201);
  EXPECT_EQ(ask(Method::kGet, "/hamlet/history", auditor_of_hamlet).status, 200);

  // And here not.
  const std::string id = new_id();
  ASSERT_EQ(post("/transfers", anna.bearer, transfer_body(anna.wallet, ben.wallet, "1", id)).status,
            201);
  std::vector<Call> calls = calls_of(anna, ben);
  const Call more[] = {
      {Method::kGet, "/users"},
      {Method::kGet, "/history"},
      {Method::kGet, "/audit"},
      {Method::kPost, "/wallets/" + anna.wallet + "/freeze", R"({"reason":"x"})"},
      {Method::kPost, "/users/" + anna.id + "/delete", R"({"reason":"x"})"},
      {Method::kPost, "/reversals",
       fmt::format(R"({{"transaction":"{}","id":"{}","reason":"x"}})", id, new_id())},
      {Method::kPost, "/transfers", transfer_body(bank(), bank(), "5")},
      {Method::kPost, "/transfers", transfer_body(bank(), anna.wallet, "5")}};
  calls.insert(calls.end(), std::begin(more), std::end(more));
  for (const std::string& bearer : {operator_of_hamlet, issuer_of_hamlet, auditor_of_hamlet})
    expect_refused(calls, bearer, 403, "");
}

TEST_P(TokenProvider, ProviderThatIsDownIsNoRefusal) {
  serve();
  const Person anna = make_member("member1");
  provider_.kill();
  const Answer unknown = get("/wallets/" + anna.wallet, anna.bearer);
  EXPECT_EQ(unknown.status, 503) << bj::serialize(unknown.body);
  EXPECT_EQ(get("/wallets/" + anna.wallet, host()).status, 200);
  provider_.start();
  clock_.advance_ms(20'000);  // after a failure it is asked less often
  EXPECT_EQ(get("/wallets/" + anna.wallet, provider_.access_token("member1")).status, 200);
}

INSTANTIATE_TEST_SUITE_P(Every, TokenProvider,
                         testing::Values(sql::test::Engine::kSqlite, sql::test::Engine::kPostgres),
                         sql::test::engine_name);

}  // namespace
}  // namespace coffer::token
