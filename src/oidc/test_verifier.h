// For tests: a verifier whose keys come from a file, and what it is to refuse.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/temp_dir.h"
#include "oidc/test_keys.h"
#include "oidc/verifier.h"

namespace coffer::oidc {

inline constexpr std::int64_t kNow = 1'800'000'000;
inline constexpr const char* kIssuer = "https://login.example/realm";

class VerifierFixture : public ::testing::Test {
 protected:
  std::unique_ptr<Verifier> open(std::vector<std::string> algorithms = {"RS256", "ES256"},
                                 std::int64_t leeway_s = 60) {
    options_.issuer = kIssuer;
    options_.audience = "coffer";
    options_.algorithms = std::move(algorithms);
    options_.leeway_s = leeway_s;
    options_.clock = &clock_;
    if (options_.jwks_file.empty()) {
      options_.jwks_file = dir_.path() / "keys.json";
      list_keys({rsa_.jwk(), ec_.jwk()});
    }
    auto verifier = Verifier::open(options_);
    EXPECT_TRUE(verifier) << verifier.error().message;
    return *std::move(verifier);
  }
  void list_keys(const std::vector<std::string>& keys) {
    ASSERT_TRUE(write_file_atomically(options_.jwks_file, as_bytes(key_set_of(keys))));
  }

  // Good claims, with some replaced or added: `"exp":1`; a value of nothing leaves the claim out.
  static std::string claims(const std::vector<std::pair<std::string, std::string>>& changes = {}) {
    std::vector<std::pair<std::string, std::string>> all = {
        {"iss", fmt::format("\"{}\"", kIssuer)},
        {"aud", "\"coffer\""},
        {"sub", "\"alice\""},
        {"exp", std::to_string(kNow + 600)},
        {"iat", std::to_string(kNow - 10)},
    };
    for (const auto& [name, value] : changes) {
      const auto found = std::ranges::find(all, name, &std::pair<std::string, std::string>::first);
      if (found == all.end())
        all.emplace_back(name, value);
      else
        found->second = value;
    }
    std::string text;
    for (const auto& [name, value] : all) {
      if (value.empty()) continue;
      text += fmt::format("{}\"{}\":{}", text.empty() ? "{" : ",", name, value);
    }
    return text + "}";
  }

  // Refused, with these words and nothing of the text.
  static void expect_refused(Verifier& verifier, const std::string& text, const char* words,
                             const std::string& what) {
    const auto result = verifier.verify(text);
    ASSERT_FALSE(result) << what;
    const Error& error = result.error();
    EXPECT_EQ(error.code, Code::kUnauthorized) << what << ": " << error.message;
    EXPECT_NE(error.message.find(words), std::string::npos) << what << ": " << error.message;
    EXPECT_EQ(error.message.find("alice"), std::string::npos) << what;
    for (std::size_t begin = 0; begin + 12 <= text.size(); begin += 6)
      EXPECT_EQ(error.message.find(text.substr(begin, 12)), std::string::npos) << what;
  }

  TempDir dir_;
  ManualClock clock_{kNow * 1000};
  ProviderOptions options_;
  const SigningKey ec_ = SigningKey::ec("ec-1");
  const SigningKey rsa_ = SigningKey::rsa("rsa-1");
};

}  // namespace coffer::oidc
