// Bad input of every kind: one clear error, and nothing changed.
#include "token/support/token_server.h"

namespace coffer::token {
namespace {

using http::Method;

class TokenRefusals : public TokenServer {
 protected:
  void SetUp() override {
    TokenServer::SetUp();
    if (IsSkipped()) return;
    serve();
    alice_ = make_person("alice"), bob_ = make_person("bob");
  }
  // All that there is, but for what the tests themselves ask.
  std::string everything() const {
    std::string all;
    for (const char* path : {"/users?with_deleted=true", "/wallets", "/history", "/system-accounts",
                             "/keys", "/roles", "/audit"})
      all += bj::serialize(got(path)) + "\n";
    // The log follows by itself.
    for (auto at = all.find(R"("log_position":)"); at != std::string::npos;
         at = all.find(R"("log_position":)", at + 1))
      all.erase(at + 15, all.find_first_of(",}", at) - at - 15);
    return all;
  }
  void expect_error(Method method, const std::string& path, const std::string& body, int status,
                    const std::string& text, const std::string& reason = "") const {
    const Answer answer = ask(method, "/village" + path, host(), body);
    EXPECT_EQ(answer.status, status) << path << " " << body << " " << bj::serialize(answer.body);
    if (!answer.body.is_object()) return;
    EXPECT_NE(answer.text("detail").find(text), std::string::npos)
        << path << " " << body << ": " << answer.text("detail");
    EXPECT_EQ(answer.text("detail").find('\n'), std::string::npos);
    EXPECT_EQ(answer.reason(), reason) << path << " " << body;
  }
  void refused(const std::string& path, const std::string& body, int status,
               const std::string& text, const std::string& reason = "") const {
    expect_error(Method::kPost, path, body, status, text, reason);
  }
  std::string transfer(const std::string& amount) const {
    return transfer_body(alice_.wallet, bob_.wallet, amount);
  }

  Person alice_, bob_;
};

TEST_P(TokenRefusals, Amounts) {
  const std::string before = everything();
  const std::string most = "9223372036854775807";
  for (const char* amount : {"0", "-1", "1.5", "1e3", "\"0\"", "\"-1\"", "\"1.5\"", "\"+1\"",
                             "\"\"", "\" 1\"", "\"0x10\"", "\"one\"", "9223372036854775808",
                             "\"9223372036854775808\"", "1e99", "true", "[1]", "{}"})
    refused("/transfers", transfer(amount), 400, "amount: ");
  refused("/transfers", transfer("null"), 400, "amount: missing");
  refused("/transfers", transfer(most), 409, "insufficient", "insufficient_balance");
  refused("/transfers", transfer("101"), 409, "insufficient", "insufficient_balance");
  refused("/transfers", transfer_body(bank(), bank(), most), 409, "", "issuance_overflow");
  refused("/transfers", transfer_body(alice_.wallet, alice_.wallet, "1"), 409, "",
          "not_a_system_wallet");
  EXPECT_EQ(everything(), before);
}

TEST_P(TokenRefusals, Bodies) {
  const std::string before = everything();
  const std::string good = transfer("1");
  refused("/transfers", "", 400, "from: missing");
  refused("/transfers", "{", 400, "not JSON");
  refused("/transfers", "[]", 400, "must be a JSON object");
  refused("/transfers", "\xff", 400, "");
  refused("/transfers", R"({"id":"1","id":"2"})", 400, "twice");
  refused("/transfers", good.substr(0, good.size() - 1) + R"(,"amout":1})", 400,
          "unknown field 'amout'");
  for (const char* type : {"0", "100", "-1", "1.5", "\"1\""})
    refused("/transfers", good.substr(0, good.size() - 1) + fmt::format(R"(,"type":{}}})", type),
            400, "type: ");
  refused("/transfers", good.substr(0, good.size() - 1) + R"(,"metadata":[1]})", 400,
          "metadata: expected a JSON object");
  const std::string large(kMaxMetadataBytes, 'x');
  refused("/transfers", good.substr(0, good.size() - 1) + R"(,"metadata":{"a":")" + large + "\"}}",
          413, "metadata: ");
  refused("/transfers",
          good.substr(0, good.size() - 1) + R"(,"memo":")" + std::string(501, 'm') + "\"}", 400,
          "memo");
  const auto future = system_clock().unix_ms() + 25 * std::int64_t{3'600'000};
  refused("/transfers",
          good.substr(0, good.size() - 1) + fmt::format(R"(,"created_unix_ms":{}}})", future), 400,
          "", "created_in_future");
  EXPECT_EQ(everything(), before);
}

TEST_P(TokenRefusals, Ids) {
  const std::string before = everything();
  const std::string nobody = new_id();
  for (const std::string& bad : {std::string("7"), std::string("g") + nobody.substr(1),
                                 nobody + "0", nobody.substr(0, 35), std::string("")}) {
    refused("/transfers", transfer_body(alice_.wallet, bob_.wallet, "1", bad), 400, "id: ");
    refused("/transfers", transfer_body(bad, bob_.wallet, "1"), 400, "from: ");
    refused("/transfers", transfer_body(alice_.wallet, bad, "1"), 400, "to: ");
    if (!bad.empty()) expect_error(Method::kGet, "/wallets/" + bad, "", 400, "wallet: ");
  }
  refused("/transfers", R"({"from":"x"})", 400, "from: ");
  refused("/transfers", transfer_body(nobody, bob_.wallet, "1"), 404, "", "sender_not_found");
  refused("/transfers", transfer_body(alice_.wallet, nobody, "1"), 404, "", "recipient_not_found");
  expect_error(Method::kGet, "/wallets/" + nobody, "", 404, nobody, "wallet_not_found");
  expect_error(Method::kGet, "/wallets/" + nobody + "/balance?at=5", "", 404, "",
               "wallet_not_found");
  expect_error(Method::kGet, "/users/" + nobody, "", 404, nobody, "user_not_found");
  expect_error(Method::kGet, "/transfers/" + nobody, "", 404, nobody, "transaction_not_found");
  expect_error(Method::kGet, "/holds/" + nobody, "", 404, nobody, "hold_not_found");
  refused("/users/" + nobody + "/rename", R"({"name":"carol"})", 404, "", "user_not_found");
  refused("/users/" + nobody + "/delete", "{}", 404, "", "user_not_found");
  refused("/wallets/" + nobody + "/freeze", R"({"reason":"x"})", 404, "", "wallet_not_found");
  refused("/holds/" + nobody + "/release", "{}", 404, "", "hold_not_found");
  refused("/keys/" + nobody + "/revoke", "{}", 404, "", "key_not_found");
  refused("/reversals",
          fmt::format(R"({{"transaction":"{}","id":"{}","reason":"x"}})", nobody, new_id()), 404,
          "", "transaction_not_found");
  refused("/transfers/" + nobody + "/erase", "{}", 404, "", "transaction_not_found");
  EXPECT_EQ(everything(), before);
}

TEST_P(TokenRefusals, NamesAndReasons) {
  const std::string before = everything();
  const auto user = [](const std::string& name) {
    return fmt::format(R"({{"id":"{}","name":"{}"}})", new_id(), name);
  };
  for (const std::string& name :
       {std::string("al"), std::string(256, 'a'), std::string("al ice"),
        std::string("al\\u0000ice"), std::string("élise"), std::string("")})
    refused("/users", user(name), 400, "username");
  for (const std::string& name : {std::string("Bank"), std::string("a-b"), std::string("ab")})
    refused("/system-accounts", user(name), 400, "name");
  refused("/system-accounts", user("system_account_communitytoken"), 409, "", "name_taken");
  refused("/wallets/" + alice_.wallet + "/freeze", "{}", 400, "reason: missing");
  refused("/wallets/" + alice_.wallet + "/freeze", R"({"reason":""})", 400, "reason");
  refused("/wallets/" + alice_.wallet + "/freeze", R"({"reason":")" + std::string(501, 'r') + "\"}",
          400, "reason");
  refused("/wallets/" + bank() + "/freeze", R"({"reason":"x"})", 409, "", "system_wallet");
  refused("/roles", R"({"issuer":"https://x","subject":"1","role":"boss"})", 400, "role");
  refused("/keys", R"({"name":"k","scopes":[],"duration_ms":1000})", 400, "scopes");
  refused("/keys", R"({"name":"k","scopes":["read"],"duration_ms":0})", 400, "duration_ms");
  EXPECT_EQ(everything(), before);
}

TEST_P(TokenRefusals, Batches) {
  const std::string before = everything();
  refused("/batches", R"({"mode":"all","transfers":[]})", 400, "transfers: ");
  refused("/batches", R"({"mode":"some","transfers":[]})", 400, "mode: ");
  refused("/batches", R"({"transfers":[]})", 400, "mode: ");
  refused("/batches",
          fmt::format(R"({{"mode":"each","transfers":[{},{}]}})", transfer("1"), transfer("1.5")),
          400, "transfers[1]: amount: ");
  refused("/batches", fmt::format(R"({{"mode":"each","transfers":[{},7]}})", transfer("1")), 400,
          "transfers[1]: ");
  std::string list = "1";
  for (std::size_t i = 0; i < kMaxBatch; ++i) list += ",1";
  refused("/batches", R"({"mode":"each","transfers":[)" + list + "]}", 413, "transfers");
  EXPECT_EQ(everything(), before);
}

TEST_P(TokenRefusals, Holds) {
  const std::string before = everything();
  const auto hold = [&](const std::string& amount, const std::string& duration) {
    return fmt::format(R"({{"id":"{}","wallet":"{}","to":"{}","amount":{},"duration_ms":{}}})",
                       new_id(), alice_.wallet, bob_.wallet, amount, duration);
  };
  refused("/holds", hold("0", "1000"), 400, "amount: ");
  refused("/holds", hold("1", "0"), 400, "duration_ms: ");
  refused("/holds", hold("1", std::to_string(kMaxHoldMs + 1)), 400, "duration_ms: ");
  refused("/holds", hold("101", "1000"), 409, "", "insufficient_balance");
  EXPECT_EQ(everything(), before);
  const std::string id = new_id();
  (void)posted("/holds", fmt::format(R"({{"id":"{}","wallet":"{}","to":"{}","amount":5,)"
                                     R"("duration_ms":600000}})",
                                     id, alice_.wallet, bob_.wallet));
  refused("/holds/" + id + "/capture",
          fmt::format(R"({{"transaction":"{}","amount":6}})", new_id()), 409, "", "above_hold");
  refused("/holds/" + id + "/capture", "{}", 400, "transaction: missing");
  refused("/transfers", transfer("96"), 409, "", "balance_held");
  EXPECT_EQ(balance(alice_.wallet), 100);
}

TEST_P(TokenRefusals, Queries) {
  const auto error = [&](const std::string& path, const std::string& text) {
    expect_error(Method::kGet, path, "", 400, text);
  };
  error("/users?nam=alice", "unknown parameter 'nam'");
  error("/users?count=0", "count");
  error("/users?count=1001", "count");
  error("/users?count=1&count=2", "twice");
  error("/users?with_deleted=maybe", "with_deleted");
  error("/users?cursor=nonsense", "cursor");
  error("/history?cursor=nonsense", "cursor");
  error("/history?type=100", "type");
  error("/history?order=up", "order");
  error("/history?from=5&to=4", "from");
  error("/history?from=2026-02-30", "from: ");
  error("/history?counterparty=" + bob_.wallet, "counterparty");
  error("/statements", "wallet: missing");
  error("/statements?wallet=7", "wallet: ");
  error("/wallets/" + alice_.wallet + "/balance?at=yesterday", "at: ");
  error("/holds", "wallet or recipient");
  error("/consistency", "older: missing");
  error("/proofs/7", "transaction: ");
}

TEST_P(TokenRefusals, FrozenAndDeletedNeitherSendNorReceive) {
  const Person carol = make_person("carol"), dave = make_person("dave");
  (void)posted("/wallets/" + carol.wallet + "/freeze", R"({"reason":"lost"})");
  (void)posted("/users/" + dave.id + "/delete", "{}");
  const auto send = [](const Person& from, const Person& to) {
    return transfer_body(from.wallet, to.wallet, "1");
  };
  refused("/transfers", send(carol, bob_), 409, "", "sender_frozen");
  refused("/transfers", send(alice_, carol), 409, "", "recipient_frozen");
  refused("/transfers", send(dave, bob_), 409, "", "sender_deleted");
  refused("/transfers", send(alice_, dave), 409, "", "recipient_deleted");
  (void)posted("/users/" + dave.id + "/reactivate", "{}");
  EXPECT_EQ(post("/transfers", host(), send(dave, bob_)).status, 201);
}

COFFER_ON_EVERY_ENGINE(TokenRefusals);

}  // namespace
}  // namespace coffer::token
