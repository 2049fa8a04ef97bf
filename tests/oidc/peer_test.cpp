// Bearer tokens of a real OpenID Connect provider.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"
#include "oidc/verifier.h"
#include "support/oidc_provider.h"

namespace coffer::oidc {
namespace {

class OidcPeer : public ::testing::Test {
 protected:
  void SetUp() override { COFFER_REQUIRE_OIDC_PROVIDER_OR_SKIP(); }

  ProviderOptions options() const {
    ProviderOptions options;
    options.issuer = provider_.issuer();
    options.audience = "coffer";
    options.clock = &clock_;
    return options;
  }
  std::unique_ptr<Verifier> open(const ProviderOptions& options) const {
    auto verifier = Verifier::open(options);
    EXPECT_TRUE(verifier) << verifier.error().message;
    return *std::move(verifier);
  }
  static void expect_code(Verifier& verifier, const std::string& text, Code code,
                          const char* words) {
    const auto result = verifier.verify(text);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  }

  test::OidcProvider provider_;
  ManualClock clock_{system_clock().unix_ms()};
};

TEST_F(OidcPeer, ClaimsOfEveryClientAreRead) {
  for (const char* algorithm : {"RS256", "ES256"}) {
    provider_.start({.algorithm = algorithm});
    const auto verifier = open(options());
    const std::pair<const char*, const char*> clients[] = {{"member1", "member"},
                                                           {"member2", "member"},
                                                           {"operator", "operator"},
                                                           {"issuer", "issuer"},
                                                           {"auditor", "auditor"}};
    for (const auto& [client, role] : clients) {
      const auto claims = verifier->verify(provider_.access_token(client));
      ASSERT_TRUE(claims) << claims.error().message;
      EXPECT_EQ(claims->issuer, provider_.issuer());
      EXPECT_EQ(claims->subject, client);
      EXPECT_EQ(claims->strings("roles"), std::vector<std::string>{role});
      EXPECT_EQ(claims->expires_at - *claims->issued_at, 600);
    }
    EXPECT_EQ(verifier->key_status().reads, 1u);
  }
}

TEST_F(OidcPeer, ForeignAndExpiredTokensAreRefused) {
  provider_.start({.algorithm = "ES256", .lifetime_s = 30});
  const auto verifier = open(options());
  const std::string good = provider_.access_token("member1");

  ProviderOptions other_audience = options();
  other_audience.audience = "other";
  expect_code(*open(other_audience), good, Code::kUnauthorized, "another audience");
  ProviderOptions other_algorithm = options();
  other_algorithm.algorithms = {"RS256"};
  expect_code(*open(other_algorithm), good, Code::kUnauthorized, "accepted are RS256");
  // The same provider under another name, with its keys given as a file.
  TempDir dir;
  ProviderOptions other_issuer = options();
  other_issuer.issuer = "https://login.example";
  other_issuer.jwks_file = dir.path() / "keys.json";
  ASSERT_TRUE(write_file_atomically(other_issuer.jwks_file, as_bytes(provider_.key_set())));
  expect_code(*open(other_issuer), good, Code::kUnauthorized, "another issuer");
  // Another provider's client of the same name.
  test::OidcProvider stranger;
  stranger.start({.algorithm = "ES256"});
  expect_code(*verifier, stranger.access_token("member1"), Code::kUnauthorized, "not the issuer's");

  const auto claims = verifier->verify(good);
  ASSERT_TRUE(claims) << claims.error().message;
  const auto set_time_ms = [&](std::int64_t unix_ms) {
    clock_.skew_ms(unix_ms - clock_.unix_ms());
  };
  set_time_ms((claims->expires_at + 60) * 1000 - 1);
  EXPECT_TRUE(verifier->verify(good));
  set_time_ms((claims->expires_at + 60) * 1000);
  expect_code(*verifier, good, Code::kUnauthorized, "has expired");
  set_time_ms((*claims->issued_at - 60) * 1000 - 1);
  expect_code(*verifier, good, Code::kUnauthorized, "in the future");
}

TEST_F(OidcPeer, RotatedKeyIsNoticedWithoutRestart) {
  provider_.start({.algorithm = "ES256"});
  const auto verifier = open(options());
  const std::string old_token = provider_.access_token("member1");
  ASSERT_TRUE(verifier->verify(old_token));
  provider_.rotate();
  const std::string new_token = provider_.access_token("member1");
  EXPECT_TRUE(verifier->verify(old_token));  // until we ask again
  expect_code(*verifier, new_token, Code::kUnauthorized, "not the issuer's");
  clock_.advance_ms(10'000);
  EXPECT_TRUE(verifier->verify(new_token));
  expect_code(*verifier, old_token, Code::kUnauthorized, "not the issuer's");
}

TEST_F(OidcPeer, KeyFileIsEnoughWithoutTheProvider) {
  provider_.start();
  TempDir dir;
  ProviderOptions with_file = options();
  with_file.jwks_file = dir.path() / "keys.json";
  const auto save_keys = [&] {
    ASSERT_TRUE(write_file_atomically(with_file.jwks_file, as_bytes(provider_.key_set())));
  };
  save_keys();
  const auto verifier = open(with_file);
  const std::string old_token = provider_.access_token("auditor");
  provider_.rotate();
  const std::string new_token = provider_.access_token("auditor");
  EXPECT_TRUE(verifier->verify(old_token));
  save_keys();
  provider_.kill();
  clock_.advance_ms(1'000);
  EXPECT_TRUE(verifier->verify(new_token));
  expect_code(*verifier, old_token, Code::kUnauthorized, "not the issuer's");
}

TEST_F(OidcPeer, ProviderMayBeDownOrHang) {
  provider_.start({.algorithm = "ES256"});
  const std::string token = provider_.access_token("member1");
  ProviderOptions impatient = options();
  impatient.fetch_timeout_ms = 500;
  const auto verifier = open(impatient);
  provider_.suspend();
  expect_code(*verifier, token, Code::kUnavailable, "did not answer within");
  provider_.resume();
  clock_.advance_ms(20'000);
  ASSERT_TRUE(verifier->verify(token));
  provider_.kill();
  clock_.advance_ms(300'000);
  EXPECT_TRUE(verifier->verify(token));
  EXPECT_EQ(verifier->key_status().failures, 1u);
  expect_code(*open(impatient), token, Code::kUnavailable, "cannot reach");
  // It comes back with another key.
  provider_.start({.algorithm = "ES256"});
  clock_.advance_ms(20'000);
  EXPECT_TRUE(verifier->verify(provider_.access_token("member1")));
  expect_code(*verifier, token, Code::kUnauthorized, "not the issuer's");
}

// EdDSA is not among the algorithms that libcjose checks.
TEST_F(OidcPeer, AlgorithmThatIsNotSupportedIsRefused) {
  provider_.start({.algorithm = "EdDSA"});
  expect_code(*open(options()), provider_.access_token("member1"), Code::kUnauthorized,
              "accepted are RS256, ES256");
}

}  // namespace
}  // namespace coffer::oidc
