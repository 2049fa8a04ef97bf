#include "oidc/key_set.h"

#include <gtest/gtest.h>
#include <openssl/err.h>

#include "oidc/base64url.h"
#include "oidc/test_keys.h"

namespace coffer::oidc {
namespace {

Algorithms accepted_algorithms(const std::vector<std::string>& names) {
  return parse_algorithms(names).value();
}

const SigningKey& rsa_key() {
  static const SigningKey key = SigningKey::rsa("rsa");
  return key;
}
const SigningKey& ec_key() {
  static const SigningKey key = SigningKey::ec("ec");
  return key;
}

TEST(KeySet, KeysOfOtherUseAreIgnored) {
  const std::string x = ec_key().number(OSSL_PKEY_PARAM_EC_PUB_X);
  const std::string y = ec_key().number(OSSL_PKEY_PARAM_EC_PUB_Y);
  Bytes even_modulus = decode_base64url(rsa_key().number(OSSL_PKEY_PARAM_RSA_N)).value();
  even_modulus.back() &= 0xfe;
  const struct {
    const char* what;
    std::string key;
    bool is_taken;
  } cases[] = {
      {"plain RSA", rsa_key().jwk(""), true},
      {"plain EC", ec_key().jwk(""), true},
      {"signature", rsa_key().jwk(R"(,"use":"sig","alg":"RS256","x5t":"abc")"), true},
      {"operation", rsa_key().jwk(R"(,"key_ops":["verify"])"), true},
      {"encryption", rsa_key().jwk(R"(,"use":"enc")"), false},
      {"use is no text", rsa_key().jwk(R"(,"use":1)"), false},
      {"other operation", rsa_key().jwk(R"(,"key_ops":["sign","encrypt"])"), false},
      {"other algorithm", rsa_key().jwk(R"(,"alg":"RSA-OAEP")"), false},
      {"an algorithm that is not accepted", rsa_key().jwk(R"(,"alg":"PS256")"), false},
      {"an algorithm of another key type", rsa_key().jwk(R"(,"alg":"ES256")"), false},
      {"algorithm HS256", rsa_key().jwk(R"(,"alg":"HS256")"), false},
      {"algorithm none", rsa_key().jwk(R"(,"alg":"none")"), false},
      {"private RSA", rsa_key().jwk(R"(,"d":"AQAB")"), false},
      {"private EC", ec_key().jwk(fmt::format(R"(,"d":"{}")", x)), false},
      {"shared secret", R"({"kty":"oct","kid":"a","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"})",
       false},
      {"unknown type", R"({"kty":"OKP","crv":"Ed25519","x":"AQAB"})", false},
      {"no type", R"({"kid":"a"})", false},
      {"RSA without exponent", R"({"kty":"RSA","n":"AQAB"})", false},
      {"RSA of 1024 bits", SigningKey::rsa("short", 1024).jwk(), false},
      {"RSA with exponent 1",
       fmt::format(R"({{"kty":"RSA","n":"{}","e":"AQ"}})", rsa_key().number(OSSL_PKEY_PARAM_RSA_N)),
       false},
      {"RSA with even exponent",
       fmt::format(R"({{"kty":"RSA","n":"{}","e":"AQAC"}})",
                   rsa_key().number(OSSL_PKEY_PARAM_RSA_N)),
       false},
      {"RSA with even modulus",
       fmt::format(R"({{"kty":"RSA","n":"{}","e":"AQAB"}})", encode_base64url(even_modulus)),
       false},
      {"RSA padded",
       fmt::format(R"({{"kty":"RSA","n":"{}=","e":"AQAB"}})",
                   rsa_key().number(OSSL_PKEY_PARAM_RSA_N)),
       false},
      {"a curve that is not accepted", SigningKey::ec("p384", "P-384").jwk(), false},
      {"unknown curve", fmt::format(R"({{"kty":"EC","crv":"P-1","x":"{}","y":"{}"}})", x, y),
       false},
      {"empty curve", fmt::format(R"({{"kty":"EC","crv":"","x":"{}","y":"{}"}})", x, y), false},
      {"not on the curve", fmt::format(R"({{"kty":"EC","crv":"P-256","x":"{}","y":"{}"}})", x, x),
       false},
      {"short coordinate", fmt::format(R"({{"kty":"EC","crv":"P-256","x":"{}","y":"AQAB"}})", x),
       false},
      {"kid is no text", R"({"kid":7,)" + ec_key().public_members() + "}", false},
      {"long kid", SigningKey::ec(std::string(257, 'k')).jwk(), false},
      {"no object", "7", false},
  };
  for (const auto& test : cases) {
    const auto keys =
        KeySet::parse(key_set_of({test.key}), accepted_algorithms({"RS256", "ES256"}));
    ASSERT_TRUE(keys) << test.what << ": " << keys.error().message;
    EXPECT_EQ(keys->size(), test.is_taken ? 1u : 0u) << test.what;
    EXPECT_EQ(keys->ignored(), test.is_taken ? 0u : 1u) << test.what;
  }
}

TEST(KeySet, TextThatIsNoSetIsRefused) {
  const struct {
    std::string text;
    Code code;
  } cases[] = {
      {"", Code::kCorrupt},
      {"<html>", Code::kCorrupt},
      {"[]", Code::kCorrupt},
      {"{}", Code::kCorrupt},
      {R"({"keys":{}})", Code::kCorrupt},
      {R"({"keys":[],"keys":[]})", Code::kCorrupt},
      {R"({"keys":[[[[[[[[[1]]]]]]]]]})", Code::kCorrupt},
      {key_set_of(std::vector<std::string>(kMaxKeys + 1, "{}")), Code::kTooLarge},
      {R"({"keys":[]})" + std::string(kMaxKeySetBytes, ' '), Code::kTooLarge},
  };
  for (const auto& test : cases) {
    const auto keys = KeySet::parse(test.text, accepted_algorithms({"RS256"}));
    ASSERT_FALSE(keys) << test.text.substr(0, 60);
    EXPECT_EQ(keys.error().code, test.code) << test.text.substr(0, 60);
  }
  EXPECT_EQ(KeySet::parse(R"({"keys":[]})", accepted_algorithms({"RS256"}))->size(), 0u);
}

TEST(KeySet, KeyIsFoundByIdAndAlgorithm) {
  const auto algorithms = accepted_algorithms({"RS256", "PS256", "ES256", "ES384"});
  const SigningKey other = SigningKey::ec("other");
  const auto keys =
      KeySet::parse(key_set_of({rsa_key().jwk(R"(,"alg":"PS256")"), ec_key().jwk(), other.jwk()}),
                    algorithms)
          .value();
  const auto find = [&](const std::optional<std::string>& id, const char* algorithm) {
    return keys.find(id, *find_algorithm(algorithm, algorithms));
  };
  EXPECT_EQ(find("rsa", "PS256")->id(), "rsa");
  EXPECT_EQ(find("rsa", "RS256"), nullptr);
  EXPECT_EQ(find("rsa", "ES256"), nullptr);
  EXPECT_EQ(find("ec", "ES256")->id(), "ec");
  EXPECT_EQ(find("ec", "ES384"), nullptr);
  EXPECT_EQ(find("", "ES256"), nullptr);
  EXPECT_EQ(find("missing", "ES256"), nullptr);
  // Without an id the key must be the only one.
  EXPECT_EQ(find(std::nullopt, "PS256")->id(), "rsa");
  EXPECT_EQ(find(std::nullopt, "ES256"), nullptr);
  EXPECT_TRUE(keys.has("rsa") && keys.has("ec") && keys.has("other"));
  EXPECT_FALSE(keys.has(""));
}

TEST(KeySet, EverySignatureAlgorithmIsChecked) {
  const struct {
    const char* algorithm;
    const SigningKey key;
  } cases[] = {
      {"RS256", rsa_key()},
      {"RS384", rsa_key()},
      {"RS512", rsa_key()},
      {"PS256", rsa_key()},
      {"PS384", rsa_key()},
      {"PS512", rsa_key()},
      {"ES256", ec_key()},
      {"ES384", SigningKey::ec("p384", "P-384")},
      {"ES512", SigningKey::ec("p521", "P-521")},
  };
  for (const auto& [name, key] : cases) {
    const auto algorithms = accepted_algorithms({name});
    const Algorithm& algorithm = *algorithms[0];
    const auto keys = KeySet::parse(key_set_of({key.jwk()}), algorithms).value();
    ASSERT_EQ(keys.size(), 1u) << name;
    const PublicKey& found = *keys.find(key.id(), algorithm);
    const std::size_t size = algorithm.signature_bytes(2048 / 8);
    for (int i = 0; i < 20; ++i) {  // an r or s with leading zeros comes up sometimes
      const std::string jwt = key.sign(name, fmt::format(R"({{"sub":"{}"}})", i));
      EXPECT_TRUE(found.verify(jwt, algorithm, size)) << name << " " << jwt;
      EXPECT_FALSE(found.verify(jwt, algorithm, size - 1)) << name;
      std::string changed = jwt;
      changed[jwt.find('.') + 3] ^= 1;
      EXPECT_FALSE(found.verify(changed, algorithm, size)) << name << " " << changed;
      EXPECT_FALSE(found.verify(jwt.substr(0, jwt.rfind('.') + 1), algorithm, size)) << name;
    }
  }
}

// What the header says is not what decides.
TEST(KeySet, AlgorithmOfTheCallerDecides) {
  const auto algorithms = accepted_algorithms({"RS256", "ES256"});
  const auto keys =
      KeySet::parse(key_set_of({rsa_key().jwk(), ec_key().jwk()}), algorithms).value();
  const Algorithm& rs256 = *find_algorithm("RS256", algorithms);
  const Algorithm& es256 = *find_algorithm("ES256", algorithms);
  const PublicKey& rsa = *keys.find("rsa", rs256);
  const PublicKey& ec = *keys.find("ec", es256);
  const std::string jwt = ec_key().sign("ES256", "{}");
  EXPECT_TRUE(ec.verify(jwt, es256, 64));
  EXPECT_FALSE(ec.verify(jwt, rs256, 64));
  EXPECT_FALSE(rsa.verify(jwt, es256, 64));
  EXPECT_FALSE(rsa.verify(jwt, rs256, 256));
  // The provider says that this key signs in another way.
  const auto both = accepted_algorithms({"RS256", "PS256"});
  const auto pinned = KeySet::parse(key_set_of({rsa_key().jwk(R"(,"alg":"PS256")")}), both).value();
  const PublicKey& pss = *pinned.find("rsa", *find_algorithm("PS256", both));
  EXPECT_TRUE(pss.verify(rsa_key().sign("PS256", "{}"), *find_algorithm("PS256", both), 256));
  EXPECT_FALSE(pss.verify(rsa_key().sign("RS256", "{}"), *find_algorithm("RS256", both), 256));
}

// A TLS connection of the same thread would take what is left for an error of its own.
TEST(KeySet, NothingIsLeftOnTheQueueOfErrors) {
  const auto algorithms = accepted_algorithms({"RS256", "ES256"});
  const std::string x = ec_key().number(OSSL_PKEY_PARAM_EC_PUB_X);
  const auto keys =
      KeySet::parse(
          key_set_of({fmt::format(R"({{"kty":"EC","crv":"P-256","x":"{0}","y":"{0}"}})", x),
                      rsa_key().jwk()}),
          algorithms)
          .value();
  EXPECT_EQ(keys.ignored(), 1u);
  EXPECT_EQ(ERR_peek_error(), 0u);
  const Algorithm& rs256 = *find_algorithm("RS256", algorithms);
  std::string jwt = rsa_key().sign("RS256", "{}");
  jwt[jwt.rfind('.') + 20] ^= 1;
  EXPECT_FALSE(keys.find("rsa", rs256)->verify(jwt, rs256, 256));
  EXPECT_EQ(ERR_peek_error(), 0u);
}

TEST(Algorithms, OnlyAsymmetricOnesCanBeAccepted) {
  for (const char* name : {"none", "HS256", "HS512", "EdDSA", "rs256", "", "RS256 "})
    EXPECT_EQ(parse_algorithms({name}).error().code, Code::kUsage) << name;
  EXPECT_EQ(parse_algorithms({}).error().code, Code::kUsage);
  EXPECT_EQ(parse_algorithms({"RS256", "RS256"}).error().code, Code::kUsage);
  EXPECT_EQ(names_of(accepted_algorithms({"ES256", "RS256"})), "ES256, RS256");
}

}  // namespace
}  // namespace coffer::oidc
