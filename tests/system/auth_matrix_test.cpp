// Who may call what: every operation of every module, with every credential, on loopback and beyond
// it (behind a proxy, where loopback counts as beyond), on the real program.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "base/temp_dir.h"
#include "support/daemon.h"

namespace coffer {
namespace {

using http::Method;

enum class Answer { kUnauthorized, kForbidden, kAdmitted };

// What a scope means. For each credential: none, a wrong one, read-token, token.
struct Rule {
  std::string_view scope;
  std::array<Answer, 4> on_loopback, beyond;
};
constexpr auto kNo = Answer::kUnauthorized;
constexpr auto kReadOnly = Answer::kForbidden;
constexpr auto kYes = Answer::kAdmitted;
constexpr Rule kPublic{"public", {kYes, kYes, kYes, kYes}, {kYes, kYes, kYes, kYes}};
constexpr Rule kRead{"read", {kYes, kYes, kYes, kYes}, {kNo, kNo, kYes, kYes}};
constexpr Rule kWrite{"write", {kNo, kNo, kReadOnly, kYes}, {kNo, kNo, kReadOnly, kYes}};
constexpr Rule kPrivateRead{"private", {kNo, kNo, kYes, kYes}, {kNo, kNo, kYes, kYes}};
constexpr Rule kPrivateWrite{"private", {kNo, kNo, kReadOnly, kYes}, {kNo, kNo, kReadOnly, kYes}};
// The module judges. Which community there is, and what a role may do in it, only the host learns.
constexpr Rule kOwnRead{"own", {kNo, kNo, kYes, kYes}, {kNo, kNo, kYes, kYes}};
constexpr Rule kOwnWrite{"own", {kNo, kNo, kReadOnly, kYes}, {kNo, kNo, kReadOnly, kYes}};

// The operations, by the beginning of their path: the first that fits counts. A new one outside of
// these has no rule, and fails the test.
struct Row {
  std::string_view path;
  Rule read, write;
};
constexpr Row kRows[] = {
    {"/health/", kPublic, kWrite},
    {"/api/v1/wallets", kPrivateRead, kPrivateWrite},
    {"/api/v1/tokens", kOwnRead, kOwnWrite},
    {"/api/v1/txs/", kRead, kWrite},
    {"/api/v1/snapshot", kRead, kWrite},
    {"/api/v1/utxo", kRead, kWrite},
    {"/api/v1/addresses/", kRead, kWrite},
    {"/api/v1/credentials/", kRead, kWrite},
    {"/api/v1/mmr/", kRead, kWrite},
    {"/api/v1/blocks/", kRead, kWrite},
    {"/api/v1/status", kRead, kWrite},
    {"/api/v1/events", kRead, kWrite},
    {"/metrics", kRead, kWrite},
    {"/openapi.json", kRead, kWrite},
};

struct Operation {
  Method method = Method::kGet;
  std::string path;
  std::string scope;
  std::string pool;  // of workers
  bool is_stream = false;

  std::string name() const { return fmt::format("{} {}", http::name(method), path); }
  // With something in place of each parameter.
  std::string target() const {
    std::string target;
    for (std::size_t at = 0; at < path.size(); ++at) {
      target += path[at] == '{' ? '7' : path[at];
      if (path[at] == '{') at = path.find('}', at);
    }
    return target;
  }
};

class AuthMatrix : public testing::Test {
 protected:
  AuthMatrix() : data_((dir_.path() / "data").string()) {}

  test::Daemon& serve(std::vector<std::string> more) {
    std::vector<std::string> arguments = {
        "--utxo-store",    "mmr",  "--txstore-enabled",          "true",
        "--token-enabled", "true", "--devnet-block-interval-ms", "50"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    daemon_.emplace(data_, arguments);
    return *daemon_;
  }
  std::string token(const char* file) const {
    const auto bytes = read_file(std::filesystem::path(data_) / file, 100);
    return bytes ? std::string(as_text(*bytes).substr(0, 64)) : "";
  }
  http::Fields credential(int which) {
    if (which == 0) return {};
    const std::string secret = which == 1   ? std::string(64, 'e')
                               : which == 2 ? token("read-token")
                                            : token("token");
    return {{"Authorization", "Bearer " + secret}};
  }
  http::Response ask(Method method, const std::string& target, http::Fields headers) const {
    http::ClientOptions options;
    options.headers = std::move(headers);
    auto answer = http::request(method, daemon_->url() + target, options);
    if (!answer) ADD_FAILURE() << target << ": " << answer.error().message;
    return answer ? *std::move(answer) : http::Response{};
  }
  std::vector<Operation> operations() {
    std::vector<Operation> found;
    const auto document =
        boost::json::parse(ask(Method::kGet, "/openapi.json", credential(3)).body);
    for (const auto& [path, methods] : document.at("paths").as_object())
      for (const auto& [method, declared] : methods.as_object()) {
        std::string upper(method);
        for (char& c : upper) c = static_cast<char>(std::toupper(c));
        const auto& content = declared.at("responses").as_object().begin()->value();
        const auto* pool = declared.as_object().if_contains("x-coffer-pool");
        found.push_back(
            {http::parse_method(upper).value(), std::string(path),
             std::string(declared.at("x-coffer-scope").as_string()),
             pool ? std::string(pool->as_string()) : "",
             boost::json::serialize(content).find("event-stream") != std::string::npos});
      }
    return found;
  }
  static const Rule* rule_of(const Operation& operation) {
    if (operation.path == "/") return &kPublic;  // the page, which asks for a token
    for (const Row& row : kRows)
      if (operation.path.starts_with(row.path))
        return http::changes_state(operation.method) ? &row.write : &row.read;
    return nullptr;
  }
  // What an answer says of the credential. A wrong one may be told to wait as well.
  static Answer meaning(const http::Response& answer, bool is_own) {
    if (answer.status == 401) return Answer::kUnauthorized;
    // Who is known and asks for a community that is not there is told so, or that he may not know.
    if (answer.status == 403 && !is_own) return Answer::kForbidden;
    return Answer::kAdmitted;
  }
  void check(const std::vector<Operation>& all, int which, bool beyond) {
    for (const Operation& operation : all) {
      const Rule* rule = rule_of(operation);
      ASSERT_NE(rule, nullptr) << operation.name() << " is new: add a row";
      EXPECT_EQ(operation.scope, rule->scope) << operation.name();
      const bool is_own = rule->scope == "own";
      const Answer expected =
          (beyond ? rule->beyond : rule->on_loopback)[static_cast<std::size_t>(which)];
      // A stream that is admitted would not end.
      const bool would_stream = operation.is_stream && expected == Answer::kAdmitted;
      const Method method = would_stream ? Method::kHead : operation.method;
      http::Fields headers = credential(which);
      // Each guess from another client, as the proxy says: guessing is slowed down.
      headers.push_back(
          {"X-Forwarded-For", fmt::format("10.0.{}.{}", guesses_ / 8 / 256, guesses_ / 8 % 256)});
      if (which == 1) ++guesses_;
      const http::Response answer = ask(method, operation.target(), headers);
      if (which == 1 && answer.status == 429) continue;  // refused as well
      if (is_own && expected == Answer::kForbidden) {
        EXPECT_TRUE(answer.status == 403 || answer.status == 404)
            << operation.name() << " " << answer.status;
        continue;
      }
      EXPECT_EQ(static_cast<int>(meaning(answer, is_own)), static_cast<int>(expected))
          << operation.name() << " with credential " << which << (beyond ? " beyond" : " on")
          << " loopback: " << answer.status << " " << answer.body;
      EXPECT_NE(answer.status, 500) << operation.name() << " " << answer.body;
    }
  }

  TempDir dir_;
  const std::string data_;
  std::optional<test::Daemon> daemon_;
  int guesses_ = 0;
};

TEST_F(AuthMatrix, OnLoopback) {
  serve({});
  const auto all = operations();
  EXPECT_GT(all.size(), 60u) << "a module is missing";
  // Whatever waits for a database does it among workers of its own.
  for (const Operation& operation : all) {
    const std::string pool = operation.path.starts_with("/api/v1/wallets")  ? "wallet"
                             : operation.path.starts_with("/api/v1/tokens") ? "token"
                                                                            : "";
    EXPECT_EQ(operation.pool, pool) << operation.name();
  }
  // The wrong one comes last: then no token is looked at for a while.
  for (const int which : {0, 2, 3, 1}) check(all, which, false);
}

TEST_F(AuthMatrix, BeyondLoopback) {
  serve({"--http-behind-proxy", "true"});
  const auto all = operations();
  for (const int which : {0, 2, 3, 1}) check(all, which, true);
}

}  // namespace
}  // namespace coffer
