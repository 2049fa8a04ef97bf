// The options of a verifier, and keys from a file that is replaced, damaged or gone.
#include "oidc/test_verifier.h"

namespace coffer::oidc {
namespace {

class KeyFile : public VerifierFixture {};

TEST_F(KeyFile, ReplacementIsNoticed) {
  const auto verifier = open();
  const SigningKey next = SigningKey::ec("ec-2");
  const std::string old_text = ec_.sign("ES256", claims());
  const std::string new_text = next.sign("ES256", claims());
  ASSERT_TRUE(verifier->verify(old_text));
  expect_refused(*verifier, new_text, "not the issuer's", "before");
  list_keys({ec_.jwk(), next.jwk()});
  clock_.advance_ms(1'000);
  EXPECT_TRUE(verifier->verify(new_text));
  EXPECT_TRUE(verifier->verify(old_text));  // as long as it is listed
  list_keys({next.jwk()});
  clock_.advance_ms(1'000);
  EXPECT_TRUE(verifier->verify(new_text));
  expect_refused(*verifier, old_text, "not the issuer's", "after");
}

TEST_F(KeyFile, DamagedFileLeavesTheKeysAsTheyWere) {
  const auto verifier = open();
  const std::string text = ec_.sign("ES256", claims());
  ASSERT_TRUE(verifier->verify(text));
  ASSERT_TRUE(write_file_atomically(options_.jwks_file, as_bytes("{\"keys\":[")));
  clock_.advance_ms(2'000);
  EXPECT_TRUE(verifier->verify(text));
  EXPECT_EQ(verifier->key_status().failures, 1u);
  EXPECT_NE(verifier->key_status().last_error.find("not a set of keys"), std::string::npos);
  std::filesystem::remove(options_.jwks_file);
  clock_.advance_ms(2'000);
  EXPECT_TRUE(verifier->verify(text));
  EXPECT_EQ(verifier->key_status().failures, 2u);
  // But not for ever.
  clock_.skew_ms(-86'400'000);
  clock_.advance_ms(86'400'000);
  const auto result = verifier->verify(text);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnavailable) << result.error().message;
  list_keys({ec_.jwk()});
  clock_.skew_ms(-10'000);
  clock_.advance_ms(10'000);
  EXPECT_TRUE(verifier->verify(text));
  EXPECT_EQ(verifier->key_status().failures, 0u);
}

TEST_F(KeyFile, WrongFileIsSeenAtOnce) {
  open();
  const auto code_of = [&](std::string_view text) {
    EXPECT_TRUE(write_file_atomically(options_.jwks_file, as_bytes(text)));
    const auto opened = Verifier::open(options_);
    return opened ? Code::kInternal : opened.error().code;
  };
  EXPECT_EQ(code_of("not JSON"), Code::kCorrupt);
  EXPECT_EQ(code_of(key_set_of({})), Code::kInvalidInput);
  EXPECT_EQ(code_of(key_set_of({ec_.jwk(R"(,"use":"enc")")})), Code::kInvalidInput);
  EXPECT_EQ(code_of(std::string(kMaxKeySetBytes + 1, ' ')), Code::kTooLarge);
  std::filesystem::remove(options_.jwks_file);
  EXPECT_EQ(Verifier::open(options_).error().code, Code::kNotFound);
}

class VerifierOptions : public VerifierFixture {};

TEST_F(VerifierOptions, WrongOnesAreRefused) {
  open();
  const auto expect_usage = [&](auto change, const char* words) {
    ProviderOptions wrong = options_;
    change(wrong);
    const auto opened = Verifier::open(wrong);
    ASSERT_FALSE(opened) << words;
    EXPECT_EQ(opened.error().code, Code::kUsage) << words;
    EXPECT_NE(opened.error().message.find(words), std::string::npos) << opened.error().message;
  };
  expect_usage([](auto& o) { o.issuer.clear(); }, "issuer");
  expect_usage([](auto& o) { o.audience.clear(); }, "audience");
  expect_usage([](auto& o) { o.leeway_s = 301; }, "leeway");
  expect_usage([](auto& o) { o.leeway_s = -1; }, "leeway");
  expect_usage([](auto& o) { o.fetch_timeout_ms = 0; }, "timeout");
  expect_usage([](auto& o) { o.min_refresh_s = 0; }, "refreshes");
  expect_usage([](auto& o) { o.max_age_s = 10; }, "age");
  expect_usage([](auto& o) { o.algorithms = {"HS256"}; }, "HS256");
  expect_usage([](auto& o) { o.algorithms = {"none"}; }, "none");
  expect_usage([](auto& o) { o.algorithms.clear(); }, "algorithm");
  const auto discovery = [&](const char* issuer, const char* words) {
    expect_usage([&](auto& o) { o.issuer = issuer, o.jwks_file.clear(); }, words);
  };
  discovery("http://login.example", "https://");
  discovery("http://127.0.0.1.example", "https://");
  discovery("http://128.0.0.1", "https://");
  discovery("http://[::2]", "https://");
  discovery("http://user@127.0.0.1", "issuer");
  discovery("login.example", "https://");
  discovery("https://login.example/?x=1", "query");
  discovery("https://login.example/#x", "fragment");
}

}  // namespace
}  // namespace coffer::oidc
