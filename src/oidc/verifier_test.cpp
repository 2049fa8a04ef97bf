// What a bearer token must be to be accepted: form, algorithm, key, signature, claims.
#include "oidc/verifier.h"

#include "oidc/base64url.h"
#include "oidc/jwt.h"
#include "oidc/test_verifier.h"

namespace coffer::oidc {
namespace {

class BearerToken : public VerifierFixture {};

TEST_F(BearerToken, GoodTokenGivesItsClaims) {
  const auto verifier = open();
  const std::string text = claims({{"roles", R"(["guild:operator","member"])"},
                                   {"realm", R"({"roles":["deep"]})"},
                                   {"mixed", R"(["a",1])"},
                                   {"exp", std::to_string(kNow + 600) + ".75"}});
  for (const auto& [algorithm, key] : {std::pair{"RS256", &rsa_}, std::pair{"ES256", &ec_}}) {
    const auto found = verifier->verify(key->sign(algorithm, text));
    ASSERT_TRUE(found) << algorithm << ": " << found.error().message;
    EXPECT_EQ(found->issuer, kIssuer);
    EXPECT_EQ(found->subject, "alice");
    EXPECT_EQ(found->expires_at, kNow + 600);
    EXPECT_EQ(found->issued_at, kNow - 10);
    EXPECT_EQ(found->strings("roles"), (std::vector<std::string>{"guild:operator", "member"}));
    EXPECT_EQ(found->strings("/realm/roles"), std::vector<std::string>{"deep"});
    EXPECT_EQ(found->strings("sub"), std::vector<std::string>{"alice"});
    EXPECT_TRUE(found->strings("mixed").empty() && found->strings("missing").empty() &&
                found->strings("exp").empty() && found->strings("/realm").empty());
    EXPECT_EQ(found->find_string("sub"), "alice");
    EXPECT_EQ(found->find_string("exp"), std::nullopt);
  }
}

TEST_F(BearerToken, AudienceMayBeOneOfAList) {
  const auto verifier = open();
  for (const char* audience : {R"(["coffer"])", R"(["other","coffer"])", R"([1,"coffer"])"})
    EXPECT_TRUE(verifier->verify(ec_.sign("ES256", claims({{"aud", audience}})))) << audience;
}

TEST_F(BearerToken, WrongClaimsAreRefused) {
  const auto verifier = open();
  const auto at = [](std::int64_t seconds) { return std::to_string(kNow + seconds); };
  const struct {
    const char *name, *words;
    std::string value;
  } cases[] = {
      {"exp", "has expired", at(-60)},
      {"exp", "has expired", at(-86'400)},
      {"exp", "has expired", "0"},
      {"exp", "no end of validity", ""},
      {"exp", "not a time", "\"" + at(600) + "\""},
      {"exp", "not a time", "null"},
      {"exp", "not a time", "-1"},
      {"exp", "not a time", "1e300"},
      {"exp", "not a time", at(600) + "000"},
      {"nbf", "not valid yet", at(61)},
      {"nbf", "not valid yet", at(60) + ".5"},
      {"nbf", "not a time", "true"},
      {"iat", "issued in the future", at(61)},
      {"iat", "not a time", "[]"},
      {"iss", "another issuer", "\"https://login.example/realm/\""},
      {"iss", "another issuer", "\"https://LOGIN.example/realm\""},
      {"iss", "another issuer", "\"https://login.example\""},
      {"iss", "another issuer", R"(["https://login.example/realm"])"},
      {"iss", "another issuer", ""},
      {"aud", "another audience", "\"coffer2\""},
      {"aud", "another audience", "\"Coffer\""},
      {"aud", "another audience", "\"\""},
      {"aud", "another audience", "[]"},
      {"aud", "another audience", R"([["coffer"]])"},
      {"aud", "another audience", R"({"coffer":"coffer"})"},
      {"aud", "another audience", ""},
      {"sub", "names no subject", ""},
      {"sub", "names no subject", "\"\""},
      {"sub", "names no subject", "7"},
      {"sub", "names no subject", R"("alice\nroot")"},
      {"sub", "names no subject", R"("alice\u0000")"},
      {"sub", "names no subject", "\"" + std::string(256, 'a') + "\""},
  };
  for (const auto& test : cases)
    expect_refused(*verifier, ec_.sign("ES256", claims({{test.name, test.value}})), test.words,
                   fmt::format("{}={}", test.name, test.value));
  for (const char* text : {"", "null", "[]", "\"alice\"", "{", "{\"sub\":}", "{\"a\":1,\"a\":2}"})
    expect_refused(*verifier, ec_.sign("ES256", text), "not a JSON object", text);
  const std::string deep = std::string(20, '[') + std::string(20, ']');
  expect_refused(*verifier, ec_.sign("ES256", claims({{"x", deep}})), "not a JSON object", "deep");
  // A claim that is there twice is neither the one nor the other.
  std::string twice = claims();
  twice.insert(1, R"("sub":"bob",)");
  expect_refused(*verifier, ec_.sign("ES256", twice), "not a JSON object", "twice");
}

TEST_F(BearerToken, LeewayBoundsTheDifferenceOfClocks) {
  for (const std::int64_t leeway_s : {0, 60, 300}) {
    const auto verifier = open({"ES256"}, leeway_s);
    const auto is_good = [&](const char* name, std::int64_t seconds) {
      return verifier->verify(ec_.sign("ES256", claims({{name, std::to_string(kNow + seconds)}})))
          .has_value();
    };
    EXPECT_TRUE(is_good("exp", 1 - leeway_s));
    EXPECT_FALSE(is_good("exp", -leeway_s));
    EXPECT_TRUE(is_good("nbf", leeway_s));
    EXPECT_FALSE(is_good("nbf", leeway_s + 1));
    EXPECT_TRUE(is_good("iat", leeway_s));
    EXPECT_FALSE(is_good("iat", leeway_s + 1));
  }
}

TEST_F(BearerToken, TokenExpiresAsTheClockGoesOn) {
  const auto verifier = open({"ES256"}, 60);
  const std::string text = ec_.sign("ES256", claims());
  clock_.advance_ms(659'999);
  EXPECT_TRUE(verifier->verify(text));
  clock_.advance_ms(1);
  expect_refused(*verifier, text, "has expired", "at the end");
}

TEST_F(BearerToken, WrongHeadersAreRefused) {
  const auto verifier = open();
  const struct {
    std::string header;
    const char* words;
  } cases[] = {
      {R"({"alg":"none","kid":"ec-1"})", "not signed with an accepted algorithm"},
      {R"({"alg":"None","kid":"ec-1"})", "not signed with an accepted algorithm"},
      {R"({"alg":"ES384","kid":"ec-1"})", "accepted are RS256, ES256"},
      {R"({"alg":"es256","kid":"ec-1"})", "not signed with an accepted algorithm"},
      {R"({"alg":"PS256","kid":"rsa-1"})", "not signed with an accepted algorithm"},
      {R"({"alg":["ES256"],"kid":"ec-1"})", "not a signed JWT"},
      {R"({"kid":"ec-1"})", "not a signed JWT"},
      {R"({"alg":"ES256","alg":"ES256","kid":"ec-1"})", "not a signed JWT"},
      {R"({"alg":"none","kid":"ec-1","alg":"ES256"})", "not a signed JWT"},
      {R"({"alg":"ES256","kid":"ec-1"}x)", "not a signed JWT"},
      {R"(["ES256"])", "not a signed JWT"},
      {"", "not a signed JWT"},
      {R"({"alg":"ES256","kid":7})", "not a signed JWT"},
      {R"({"alg":"ES256","kid":")" + std::string(257, 'k') + "\"}", "not a signed JWT"},
      {R"({"alg":"ES256","kid":"ec-1","x":[[[[[1]]]]]})", "not a signed JWT"},
      {R"({"alg":"ES256","kid":"ec-1","x":")" + std::string(4096, 'x') + "\"}", "not a signed JWT"},
      {R"({"alg":"ES256","kid":"ec-1","crit":["exp"],"exp":1})", "extension"},
      {R"({"alg":"ES256","kid":"ec-1","crit":["b64"],"b64":false})", "extension"},
      {R"({"alg":"ES256","kid":"ec-1","crit":[]})", "extension"},
      {R"({"alg":"ES256","kid":"ec-1","typ":"logout+jwt"})", "not an access token"},
      {R"({"alg":"ES256","kid":"ec-1","typ":"dpop+jwt"})", "not an access token"},
      {R"({"alg":"ES256","kid":"ec-1","typ":null})", "not an access token"},
      {R"({"alg":"ES256","kid":"ec-2"})", "not the issuer's"},
      {R"({"alg":"ES256","kid":"EC-1"})", "not the issuer's"},
      {R"({"alg":"ES256","kid":"rsa-1"})", "not the issuer's"},
      {R"({"alg":"RS256","kid":"ec-1"})", "not the issuer's"},
      {R"({"alg":"RS256","kid":"rsa-1"})", "signature"},  // signed by another key
  };
  for (const auto& test : cases)
    expect_refused(*verifier, ec_.sign("ES256", test.header, claims()), test.words, test.header);
  for (const char* type : {"JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"})
    EXPECT_TRUE(verifier->verify(ec_.sign(
        "ES256", fmt::format(R"({{"alg":"ES256","kid":"ec-1","typ":"{}"}})", type), claims())))
        << type;
}

// Keys that a bearer token brings along or points to are not looked at.
TEST_F(BearerToken, KeyInTheHeaderIsNotUsed) {
  const auto verifier = open();
  const SigningKey own = SigningKey::ec("own");
  for (const std::string kid : {"ec-1", "own"})
    expect_refused(
        *verifier,
        own.sign("ES256",
                 fmt::format(R"({{"alg":"ES256","kid":"{}","jwk":{},"jku":"http://127.0.0.1:1/"}})",
                             kid, own.jwk()),
                 claims()),
        kid == "own" ? "not the issuer's" : "signature", kid);
}

// The classic mistake: a public key, which everybody has, taken as the secret of an HMAC.
TEST_F(BearerToken, PublicKeyIsNoSharedSecret) {
  const auto verifier = open();
  std::vector<std::string> secrets = {rsa_.jwk(), key_set_of({rsa_.jwk()}),
                                      "{" + rsa_.public_members() + "}"};
  const Bytes modulus = decode_base64url(rsa_.number(OSSL_PKEY_PARAM_RSA_N)).value();
  secrets.emplace_back(as_text(modulus));
  secrets.push_back(rsa_.public_pem());
  secrets.emplace_back();
  for (const std::string& secret : secrets)
    for (const char* algorithm : {"HS256", "RS256"}) {
      const std::string input =
          encode_base64url(fmt::format(R"({{"alg":"{}","kid":"rsa-1"}})", algorithm)) + "." +
          encode_base64url(claims());
      expect_refused(*verifier, input + "." + encode_base64url(hmac_sha256(secret, input)),
                     algorithm == std::string("HS256") ? "accepted algorithm" : "signature",
                     algorithm);
    }
}

TEST_F(BearerToken, TamperedTokensAreRefused) {
  const auto verifier = open();
  const std::string good = ec_.sign("ES256", claims());
  ASSERT_TRUE(verifier->verify(good));
  const std::size_t first = good.find('.'), second = good.rfind('.');
  const std::string header = good.substr(0, first), signature = good.substr(second + 1);
  // Another's claims under the same signature.
  expect_refused(
      *verifier,
      header + "." + encode_base64url(claims({{"sub", "\"mallory\""}})) + "." + signature,
      "signature", "claims");
  // Any one character changed, in any part.
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = good[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(verifier->verify(changed)) << i;
  }
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(verifier->verify(std::string_view(good).substr(0, size))) << size;
  const struct {
    const char* what;
    std::string text;
  } cases[] = {
      {"no signature", good.substr(0, second + 1)},
      {"zeros as signature", good.substr(0, second + 1) + std::string(86, 'A')},
      {"longer signature", good + "AAAA"},
      {"four parts", good + ".AAAA"},
      {"padding", good + "=="},
      {"blank after it", good + " "},
      {"blank before it", " " + good},
      {"NUL after it", good + std::string(1, '\0')},
      {"scheme before it", "Bearer " + good},
      {"JSON serialization", R"({"payload":"e30","signatures":[]})"},
      {"five parts, encrypted", "eyJhbGciOiJSU0EtT0FFUCJ9.a.b.c.d"},
      {"empty", ""},
      {"dots", ".."},
      {"one dot", "a.b"},
      {"bytes", std::string("\xff\xfe\x00.\x01.\x02", 7)},
  };
  for (const auto& test : cases) EXPECT_FALSE(verifier->verify(test.text)) << test.what;
}

TEST_F(BearerToken, TokenSizeIsBounded) {
  const auto verifier = open();
  const auto padded = [&](std::size_t bytes) {
    return ec_.sign("ES256", claims({{"pad", "\"" + std::string(bytes, 'x') + "\""}}));
  };
  const std::string fits = padded(11'800);
  ASSERT_LE(fits.size(), kMaxJwtBytes);
  EXPECT_TRUE(verifier->verify(fits));
  expect_refused(*verifier, padded(12'300), "at most 16384", "claims");
  expect_refused(*verifier, std::string(1 << 20, 'a'), "at most 16384", "garbage");
}

TEST_F(BearerToken, AcceptedAlgorithmsArePinned) {
  // A header that names what the key could do, but nobody accepts.
  const auto only_ec = open({"ES256"});
  expect_refused(*only_ec, rsa_.sign("RS256", claims()), "accepted are ES256", "RS256");
  const auto only_pss = open({"PS256"});
  EXPECT_TRUE(only_pss->verify(rsa_.sign("PS256", claims())));
  expect_refused(*only_pss, rsa_.sign("RS256", claims()), "accepted are PS256", "RS256");
  // A signature of the one kind under the name of the other.
  expect_refused(*only_pss, rsa_.sign("RS256", R"({"alg":"PS256","kid":"rsa-1"})", claims()),
                 "signature", "RS256 as PS256");
}

TEST_F(BearerToken, KeyIdMayBeLeftOutIfThereIsOneKey) {
  const auto verifier = open();
  const std::string text = ec_.sign("ES256", R"({"alg":"ES256"})", claims());
  EXPECT_TRUE(verifier->verify(text));
  const SigningKey second = SigningKey::ec("ec-2");
  list_keys({ec_.jwk(), second.jwk()});
  clock_.advance_ms(1'000);
  expect_refused(*verifier, text, "not the issuer's", "two keys");
}

}  // namespace
}  // namespace coffer::oidc
