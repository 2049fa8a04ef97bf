// Keys from a provider by discovery: rotation, strangers with random key ids, and a provider that
// is down, hangs, or answers nonsense.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"
#include "base/test_log.h"
#include "http/test_certificate.h"
#include "http/test_util.h"
#include "oidc/test_provider.h"
#include "oidc/verifier.h"

namespace coffer::oidc {
namespace {

constexpr std::int64_t kMinRefreshMs = 10'000;
constexpr std::int64_t kRefreshMs = 300'000;
constexpr std::int64_t kDayMs = 86'400'000;

class Discovery : public ::testing::Test {
 protected:
  Discovery() { provider_.list_keys({&first_}); }

  std::unique_ptr<Verifier> open(std::int64_t fetch_timeout_ms = 5'000) {
    options_.issuer = provider_.issuer();
    options_.audience = "coffer";
    options_.fetch_timeout_ms = fetch_timeout_ms;
    options_.clock = &clock_;
    auto verifier = Verifier::open(options_);
    EXPECT_TRUE(verifier) << verifier.error().message;
    return *std::move(verifier);
  }
  // Good for two days.
  std::string jwt(const SigningKey& key) const {
    return key.sign("ES256", fmt::format(R"({{"iss":"{}","aud":"coffer","sub":"alice","exp":{}}})",
                                         provider_.issuer(), clock_.unix_ms() / 1000 + 172'800));
  }
  std::string jwt_with_key_id(const std::string& id) const {
    return first_.sign("ES256", fmt::format(R"({{"alg":"ES256","kid":"{}"}})", id), "{}");
  }
  static void expect_code(Verifier& verifier, const std::string& text, Code code,
                          const char* words = "") {
    const auto result = verifier.verify(text);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  }
  static std::int64_t took_ms(const std::function<void()>& what) {
    const std::int64_t began = system_clock().steady_ms();
    what();
    return system_clock().steady_ms() - began;
  }

  TestProvider provider_;
  ManualClock clock_{1'800'000'000'000};
  ProviderOptions options_;
  const SigningKey first_ = SigningKey::ec("first");
  const SigningKey second_ = SigningKey::ec("second");
};

TEST_F(Discovery, KeysAreFetchedOnceAndKept) {
  const auto verifier = open();
  EXPECT_EQ(provider_.documents(), 0);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(verifier->verify(jwt(first_)));
  EXPECT_EQ(provider_.documents(), 1);
  EXPECT_EQ(provider_.key_sets(), 1);
  clock_.advance_ms(kRefreshMs - 1);
  EXPECT_TRUE(verifier->verify(jwt(first_)));
  EXPECT_EQ(provider_.key_sets(), 1);
  clock_.advance_ms(1);
  EXPECT_TRUE(verifier->verify(jwt(first_)));
  EXPECT_EQ(provider_.key_sets(), 2);
  EXPECT_EQ(verifier->key_status().keys, 1u);
  EXPECT_EQ(verifier->key_status().reads, 2u);
  EXPECT_EQ(verifier->key_status().age_ms, 0);
}

TEST_F(Discovery, NewKeyIsGoodAtOnceAndRemovedKeyAfterTheRefresh) {
  const auto verifier = open();
  ASSERT_TRUE(verifier->verify(jwt(first_)));
  clock_.advance_ms(kMinRefreshMs);
  provider_.list_keys({&first_, &second_});
  EXPECT_TRUE(verifier->verify(jwt(second_)));
  EXPECT_TRUE(verifier->verify(jwt(first_)));  // as long as it is listed
  provider_.list_keys({&second_});
  clock_.advance_ms(kRefreshMs);
  expect_code(*verifier, jwt(first_), Code::kUnauthorized, "not the issuer's");
  EXPECT_TRUE(verifier->verify(jwt(second_)));
}

TEST_F(Discovery, RandomKeyIdsFetchOnceInAnInterval) {
  const auto verifier = open();
  ASSERT_TRUE(verifier->verify(jwt(first_)));
  const auto ask_often = [&] {
    for (int i = 0; i < 50; ++i)
      expect_code(*verifier, jwt_with_key_id(std::to_string(i)), Code::kUnauthorized,
                  "not the issuer's");
  };
  ask_often();  // the keys were read just now
  EXPECT_EQ(provider_.key_sets(), 1);
  for (int interval = 1; interval <= 5; ++interval) {
    clock_.advance_ms(kMinRefreshMs);
    ask_often();
    EXPECT_EQ(provider_.key_sets(), 1 + interval);
    EXPECT_TRUE(verifier->verify(jwt(first_)));
  }
  EXPECT_EQ(provider_.documents(), provider_.key_sets());
}

TEST_F(Discovery, GarbageFetchesNothing) {
  const auto verifier = open();
  for (const char* text : {"", "a.b.c", "eyJhbGciOiJub25lIn0.e30."})
    expect_code(*verifier, text, Code::kUnauthorized);
  EXPECT_EQ(provider_.documents(), 0);
}

TEST_F(Discovery, ProviderDownAtStartIsAskedAgain) {
  const LogCapture log;
  const auto verifier = open();
  provider_.stop();
  expect_code(*verifier, jwt(first_), Code::kUnavailable, "asked again in");
  provider_.start();
  expect_code(*verifier, jwt(first_), Code::kUnavailable, "cannot reach");  // not so soon
  clock_.advance_ms(2 * kMinRefreshMs);  // doubled by the failure
  EXPECT_TRUE(verifier->verify(jwt(first_)));
  EXPECT_EQ(verifier->key_status().failures, 0u);
  EXPECT_NE(log.text().find("provider keys not read"), std::string::npos) << log.text();
}

TEST_F(Discovery, ProviderDownLaterLeavesTheKeysInUse) {
  const auto verifier = open();
  ASSERT_TRUE(verifier->verify(jwt(first_)));
  provider_.stop();
  clock_.advance_ms(kRefreshMs);
  EXPECT_TRUE(verifier->verify(jwt(first_)));
  EXPECT_EQ(verifier->key_status().failures, 1u);
  expect_code(*verifier, jwt(second_), Code::kUnauthorized, "not the issuer's");
  clock_.advance_ms(kDayMs - kRefreshMs - 1);
  EXPECT_TRUE(verifier->verify(jwt(first_)));
  clock_.advance_ms(1);
  expect_code(*verifier, jwt(first_), Code::kUnavailable, "no keys of");
  provider_.start();
  clock_.advance_ms(60'000);
  EXPECT_TRUE(verifier->verify(jwt(first_)));
}

TEST_F(Discovery, FailingProviderIsAskedLessOften) {
  provider_.set_status(500);
  const auto verifier = open();
  for (int second = 0; second < 600; ++second, clock_.advance_ms(1'000))
    expect_code(*verifier, jwt(first_), Code::kUnavailable, "HTTP 500");
  // At 0, 20, 60, 120, 180, … 540 seconds.
  EXPECT_EQ(provider_.documents(), 11);
  provider_.set_status(200);
  clock_.advance_ms(60'000);
  EXPECT_TRUE(verifier->verify(jwt(first_)));
}

TEST_F(Discovery, HungProviderCostsTheFirstCallerTheDeadline) {
  constexpr std::int64_t kTimeoutMs = 300;
  const auto verifier = open(kTimeoutMs);
  provider_.hold();
  const std::int64_t first_ms = took_ms(
      [&] { expect_code(*verifier, jwt(first_), Code::kUnavailable, "did not answer within"); });
  EXPECT_GE(first_ms, kTimeoutMs - 50);
  EXPECT_LT(first_ms, 10 * kTimeoutMs);
  // Nobody waits again before the next attempt.
  EXPECT_LT(took_ms([&] {
              for (int i = 0; i < 20; ++i) expect_code(*verifier, jwt(first_), Code::kUnavailable);
            }),
            kTimeoutMs);
  provider_.release();
  clock_.advance_ms(2 * kMinRefreshMs);
  EXPECT_TRUE(verifier->verify(jwt(first_)));
}

TEST_F(Discovery, KnownKeyWaitsASecondForAHungProvider) {
  const auto verifier = open(30'000);
  ASSERT_TRUE(verifier->verify(jwt(first_)));
  provider_.hold();
  clock_.advance_ms(kRefreshMs);
  EXPECT_LT(took_ms([&] { EXPECT_TRUE(verifier->verify(jwt(first_))); }), 10'000);
  // The fetch goes on, and that second is over.
  EXPECT_LT(took_ms([&] {
              for (int i = 0; i < 20; ++i) {
                EXPECT_TRUE(verifier->verify(jwt(first_)));
                expect_code(*verifier, jwt(second_), Code::kUnauthorized);
              }
            }),
            10'000);
  provider_.list_keys({&second_});
  provider_.release();
  EXPECT_TRUE(http::eventually([&] { return verifier->verify(jwt(second_)).has_value(); }));
  EXPECT_EQ(provider_.key_sets(), 2);
}

TEST_F(Discovery, OthersUseTheOldKeysDuringAFetch) {
  const auto verifier = open(20'000);
  ASSERT_TRUE(verifier->verify(jwt(first_)));
  provider_.hold();
  clock_.advance_ms(kMinRefreshMs);
  std::thread waiting([&] { EXPECT_TRUE(verifier->verify(jwt(second_))); });
  ASSERT_TRUE(http::eventually([&] { return provider_.key_sets() == 2; }));
  EXPECT_LT(took_ms([&] {
              for (int i = 0; i < 20; ++i) EXPECT_TRUE(verifier->verify(jwt(first_)));
            }),
            1'000);
  provider_.list_keys({&first_, &second_});
  provider_.release();
  waiting.join();
  EXPECT_EQ(provider_.key_sets(), 2);
}

TEST_F(Discovery, ConcurrentCallersShareOneFetch) {
  const auto verifier = open();
  ASSERT_TRUE(verifier->verify(jwt(first_)));
  clock_.advance_ms(kMinRefreshMs);
  provider_.list_keys({&first_, &second_});
  provider_.hold();
  std::atomic<int> good = 0;
  std::vector<std::thread> callers;
  callers.reserve(8);
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] { good += verifier->verify(jwt(second_)).has_value() ? 1 : 0; });
  ASSERT_TRUE(http::eventually([&] { return provider_.key_sets() == 2; }));
  provider_.release();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(provider_.key_sets(), 2);
}

// Longer than others wait for a fetch that it began.
TEST_F(Discovery, NewKeyWaitsForASlowProvider) {
  const auto verifier = open(20'000);
  ASSERT_TRUE(verifier->verify(jwt(first_)));
  provider_.hold();
  provider_.list_keys({&second_});
  clock_.advance_ms(kMinRefreshMs);
  std::thread waiting([&] { EXPECT_TRUE(verifier->verify(jwt(second_))); });
  ASSERT_TRUE(http::eventually([&] { return provider_.key_sets() == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(1'500));  // what is slow
  provider_.release();
  waiting.join();
}

TEST_F(Discovery, StopEndsAWait) {
  auto verifier = open(20'000);
  provider_.hold();
  std::thread waiting([&] { expect_code(*verifier, jwt(first_), Code::kUnavailable, "stopping"); });
  ASSERT_TRUE(http::eventually([&] { return provider_.key_sets() == 1; }));
  EXPECT_LT(took_ms([&] {
              verifier->stop();
              waiting.join();
            }),
            10'000);
  clock_.advance_ms(kDayMs);
  expect_code(*verifier, jwt(first_), Code::kUnavailable, "stopping");
  EXPECT_EQ(verifier->key_status().reads, 1u);
  EXPECT_LT(took_ms([&] { verifier.reset(); }), 10'000);  // the fetch is cut
}

TEST_F(Discovery, NonsenseGivesNoKeys) {
  const std::string keys_url = provider_.issuer() + "/keys";
  const std::string document = provider_.document();
  const std::string keys = key_set_of({first_.jwk()});
  const struct {
    const char* what;
    int status;
    std::string document, keys;
    const char* words;
  } cases[] = {
      {"another issuer", 200, TestProvider::document("http://127.0.0.1:1", keys_url), keys,
       "another issuer"},
      {"issuer with a slash", 200, TestProvider::document(provider_.issuer() + "/", keys_url), keys,
       "another issuer"},
      {"no issuer", 200, fmt::format(R"({{"jwks_uri":"{}"}})", keys_url), keys, "another issuer"},
      {"no address", 200, fmt::format(R"({{"issuer":"{}"}})", provider_.issuer()), keys,
       "jwks_uri"},
      {"unprotected address", 200,
       TestProvider::document(provider_.issuer(), "http://keys.example/"), keys, "no https://"},
      {"file address", 200, TestProvider::document(provider_.issuer(), "file:///etc/passwd"), keys,
       "no https://"},
      {"address with a line break", 200,
       TestProvider::document(provider_.issuer(), keys_url + "\\r\\nX: y"), keys, "no https://"},
      {"HTML", 200, "<html></html>", keys, "not a discovery document"},
      {"empty", 200, "", keys, "not a discovery document"},
      {"a list", 200, "[]", keys, "not a discovery document"},
      {"key set is HTML", 200, document, "<html></html>", "not a set of keys"},
      {"key set is empty", 200, document, "", "not a set of keys"},
      {"key set is too large", 200, document, keys + std::string(kMaxKeySetBytes, ' '),
       "more than"},
      {"error", 503, document, keys, "HTTP 503"},
      {"missing", 404, document, keys, "HTTP 404"},
      {"redirect", 302, document, keys, "HTTP 302"},
  };
  for (const auto& test : cases) {
    provider_.set_status(test.status);
    provider_.set_document(test.document);
    provider_.set_keys(test.keys);
    const auto verifier = open();
    const auto result = verifier->verify(jwt(first_));
    ASSERT_FALSE(result) << test.what;
    EXPECT_EQ(result.error().code, Code::kUnavailable) << test.what;
    EXPECT_NE(result.error().message.find(test.words), std::string::npos)
        << test.what << ": " << result.error().message;
  }
}

// The slash is part of the name, but not of the document's address.
TEST_F(Discovery, IssuerMayEndWithASlash) {
  open();
  options_.issuer = provider_.issuer() + "/";
  provider_.set_document(TestProvider::document(options_.issuer, provider_.issuer() + "/keys"));
  const auto verifier = Verifier::open(options_).value();
  expect_code(*verifier, jwt(first_), Code::kUnauthorized, "another issuer");
  EXPECT_TRUE(verifier->verify(
      first_.sign("ES256", fmt::format(R"({{"iss":"{}","aud":"coffer","sub":"alice","exp":{}}})",
                                       options_.issuer, clock_.unix_ms() / 1000 + 60))));
}

TEST_F(Discovery, NonsenseLaterLeavesTheKeysInUse) {
  const auto verifier = open();
  ASSERT_TRUE(verifier->verify(jwt(first_)));
  provider_.set_document(
      TestProvider::document("http://127.0.0.1:1", provider_.issuer() + "/keys"));
  provider_.list_keys({&second_});
  clock_.advance_ms(kRefreshMs);
  EXPECT_TRUE(verifier->verify(jwt(first_)));
  clock_.advance_ms(kRefreshMs);
  expect_code(*verifier, jwt(second_), Code::kUnauthorized);
}

// A provider that takes its keys back means it.
TEST_F(Discovery, EmptyKeySetLetsNobodyIn) {
  const LogCapture log;
  const auto verifier = open();
  ASSERT_TRUE(verifier->verify(jwt(first_)));
  provider_.list_keys({});
  clock_.advance_ms(kRefreshMs);
  expect_code(*verifier, jwt(first_), Code::kUnauthorized, "not the issuer's");
  EXPECT_NE(log.text().find("provider has no keys to use"), std::string::npos) << log.text();
}

TEST_F(Discovery, CertificateOfTheProviderIsChecked) {
  TempDir dir;
  const http::TlsFiles files = http::make_certificate(dir.path(), "provider");
  provider_.restart_with_tls(files);
  ASSERT_TRUE(provider_.issuer().starts_with("https://")) << provider_.issuer();
  options_.ca_file = files.cert;
  EXPECT_TRUE(open()->verify(jwt(first_)));
  options_.ca_file.clear();  // the system's authorities do not know it
  expect_code(*open(), jwt(first_), Code::kUnavailable, "cannot reach");
  // Keys that would come unprotected, though from this machine, are not asked for.
  options_.ca_file = files.cert;
  provider_.set_document(TestProvider::document(provider_.issuer(), "http://127.0.0.1:1/keys"));
  expect_code(*open(), jwt(first_), Code::kUnavailable, "no https://");
}

}  // namespace
}  // namespace coffer::oidc
