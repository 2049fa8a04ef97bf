// For tests: a real OpenID Connect provider as a child process. A client stands for a person:
// member1, member2, operator, issuer, auditor, each with that role in the claim "roles".
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <csignal>
#include <filesystem>

#include "base/result.h"
#include "base/test_data.h"
#include "http/client.h"
#include "support/process.h"

// Ends the test where the provider is not installed. Only in the body of a test or in SetUp().
#define COFFER_REQUIRE_OIDC_PROVIDER_OR_SKIP()                                                  \
  if (!std::filesystem::exists("build/peers/oidc/node_modules/oidc-provider")) {                \
    if (::coffer::shared_data_required())                                                       \
      FAIL() << "the peer oidc is not installed and COFFER_REQUIRE_DATA=1";                     \
    GTEST_SKIP() << "the peer oidc is not installed; ./dev test does it where shared/peers is " \
                    "there";                                                                    \
  }                                                                                             \
  static_assert(true, "wants a semicolon")

namespace coffer::test {

struct OidcProviderOptions {
  std::string algorithm = "RS256";  // or ES256, EdDSA
  std::string audience = "coffer";
  int lifetime_s = 600;
};

class OidcProvider {
 public:
  // Also after kill() or with other options: the same issuer with a new key.
  void start(const OidcProviderOptions& options = {}) {
    process_.reset();
    process_.emplace(std::vector<std::string>{"node", "build/peers/oidc/server.js", "--port",
                                              std::to_string(port_), "--alg", options.algorithm,
                                              "--audience", options.audience, "--lifetime",
                                              std::to_string(options.lifetime_s)});
    ASSERT_TRUE(process_->wait_for_output("token_endpoint")) << process_->err();
  }
  void kill() {
    process_->kill(SIGKILL);
    process_->wait();
  }
  // Answers nothing until resume(), though connections succeed.
  void suspend() { process_->kill(SIGSTOP); }
  void resume() { process_->kill(SIGCONT); }

  std::string issuer() const { return fmt::format("http://127.0.0.1:{}", port_); }

  // What a client signs in with from now on; empty on failure, which is reported.
  std::string access_token(const std::string& client) const {
    http::ClientOptions options;
    options.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
    options.body =
        fmt::format("grant_type=client_credentials&client_id={0}&client_secret={0}-secret", client);
    const auto answer = http::request(http::Method::kPost, issuer() + "/token", options);
    if (!answer || answer->status != 200) {
      ADD_FAILURE() << (answer ? std::string(answer->content()) : answer.error().message);
      return "";
    }
    return std::string(
        boost::json::parse(std::string(answer->content())).at("access_token").as_string());
  }
  // The signing key is replaced; the old one leaves the key set.
  void rotate() const {
    const auto answer = http::request(http::Method::kPost, issuer() + "/test/rotate");
    ASSERT_TRUE(answer && answer->status == 200);
  }
  std::string key_set() const {
    const auto answer = http::get(issuer() + "/jwks");
    return answer ? std::string(answer->content()) : std::string();
  }

 private:
  const int port_ = free_port();
  std::optional<Process> process_;
};

}  // namespace coffer::test
