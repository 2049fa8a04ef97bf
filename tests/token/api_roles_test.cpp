// Every cell of the table of rights, by a request of somebody who holds nothing else. What a person
// has of his own is there as well: the operator, issuer and auditor have wallets too.
#include "token/support/token_server.h"

namespace coffer::token {
namespace {

using http::Method;

// A request for one action. "{own}" stands for the wallet of who asks, "{other}" for another
// user's, "{bank}" for a system wallet, "{id}" for a new id.
struct Probe {
  Action action;
  Method method;
  std::string path, body;
  Facts facts;  // as far as they are the same for everybody
};

const std::string kTransfer = R"({"id":"{id}","from":"{from}","to":"{other}","amount":1})";

std::string transfer_from(std::string_view wallet) {
  std::string body = kTransfer;
  body.replace(body.find("{from}"), 6, wallet);
  return body;
}

std::vector<Probe> probes() {
  const auto get = Method::kGet, post = Method::kPost;
  const std::string reason = R"({"reason":"because"})";
  const std::string user = R"({"id":"{id}","name":"somebody"})";
  const std::string hold = R"({"id":"{id}","wallet":"WALLET","to":"{other}","amount":1,)"
                           R"("duration_ms":60000})";
  const auto hold_of = [&](std::string_view wallet) {
    std::string body = hold;
    return body.replace(body.find("WALLET"), 6, wallet);
  };
  const Facts own{.is_own = true}, system{.is_system = true};
  return {
      {Action::kReadSummary, get, "/supply", "", {}},
      {Action::kReadSummary, get, "/checkpoints", "", {}},
      {Action::kFindUser, get, "/users?name=other", "", {}},
      {Action::kListUsers, get, "/users", "", {}},
      {Action::kListUsers, get, "/wallets", "", {}},
      {Action::kListUsers, get, "/system-accounts", "", {}},
      {Action::kReadWallet, get, "/wallets/{own}", "", own},
      {Action::kReadWallet, get, "/wallets/{other}", "", {}},
      {Action::kReadWallet, get, "/wallets/{bank}", "", system},
      {Action::kReadWallet, get, "/history?wallet={other}", "", {}},
      {Action::kReadWallet, get, "/statements?wallet={own}", "", own},
      {Action::kReadHistory, get, "/history", "", {}},
      {Action::kTransfer, post, "/transfers", transfer_from("{own}"), own},
      {Action::kTransfer, post, "/transfers", transfer_from("{third}"), {}},
      {Action::kDistribute, post, "/transfers", transfer_from("{bank}"), {}},
      {Action::kIssue,
       post,
       "/transfers",
       R"({"id":"{id}","from":"{bank}","to":"{bank}","amount":1})",
       {}},
      {Action::kOpenHold, post, "/holds", hold_of("{own}"), own},
      {Action::kOpenHold, post, "/holds", hold_of("{third}"), {}},
      {Action::kOpenHold, post, "/holds", hold_of("{bank}"), system},
      {Action::kManageUsers, post, "/users", user, {}},
      {Action::kManageUsers, Method::kPut, "/wallets/{third}/limits", "{}", {}},
      {Action::kFreeze, post, "/wallets/{fourth}/freeze", reason, {}},
      {Action::kFreeze, post, "/wallets/{fourth}/unfreeze", reason, {}},
      {Action::kReverse,
       post,
       "/reversals",
       R"({"transaction":"{id}","id":"{id}","reason":"because"})",
       {}},
      {Action::kReverse, post, "/transfers/{id}/erase", "{}", {}},
      {Action::kCheck, post, "/checks", "", {}},
      {Action::kReadAudit, get, "/audit", "", {}},
      {Action::kReadAudit, get, "/roles", "", {}},
      {Action::kListKeys, get, "/keys", "", {}},
      {Action::kRevokeKey, post, "/keys/{id}/revoke", "{}", {}},
      {Action::kAdminister, post, "/system-accounts", R"({"id":"{id}","name":"account_{id}"})", {}},
      {Action::kAdminister,
       post,
       "/roles",
       R"({"issuer":"https://x","subject":"{id}","role":"member"})",
       {}},
  };
}

class TokenRoles : public TokenServer {
 protected:
  struct Caller {
    Holder holder;
    std::string bearer, wallet;
  };
  std::string fill(std::string text, const Caller& caller) const {
    const std::pair<std::string, std::string> values[] = {
        {"{own}", caller.wallet}, {"{other}", other_.wallet},   {"{third}", third_.wallet},
        {"{bank}", bank()},       {"{fourth}", fourth_.wallet}, {"account_{id}", account_name()}};
    for (const auto& [name, value] : values)
      for (auto at = text.find(name); at != std::string::npos; at = text.find(name))
        text.replace(at, name.size(), value);
    for (auto at = text.find("{id}"); at != std::string::npos; at = text.find("{id}"))
      text.replace(at, 4, new_id());
    return text;
  }
  static std::string account_name() {
    std::string name = "account_" + new_id();
    std::ranges::replace(name, '-', '_');
    return name;
  }
  Caller person(Holder holder, const std::string& role) {
    const Person someone = make_person(role);
    // Whoever is linked to a user is a member: the role alone is judged with an identity of no
    // user, so his own wallet is somebody's.
    const bool is_member = holder == Holder::kMember;
    return {holder, is_member ? someone.bearer : bearer_of(role + "-only", {"village:" + role}),
            someone.wallet};
  }

  Person other_, third_, fourth_;
};

TEST_P(TokenRoles, EveryCellOverHttp) {
  serve();
  other_ = make_person("other"), third_ = make_person("third"), fourth_ = make_person("fourth");
  std::string scopes;
  for (const std::string& scope : known_scopes())
    scopes += (scopes.empty() ? "\"" : ",\"") + scope + "\"";
  const Answer key =
      post("/keys", host(), R"({"name":"all","scopes":[)" + scopes + R"(],"duration_ms":600000})");
  ASSERT_EQ(key.status, 201) << bj::serialize(key.body);
  const std::vector<Caller> callers = {
      {Holder::kHost, host(), third_.wallet}, person(Holder::kOperator, "operator"),
      person(Holder::kIssuer, "issuer"),      person(Holder::kAuditor, "auditor"),
      person(Holder::kMember, "member"),      {Holder::kKey, key.text("secret"), third_.wallet},
  };
  std::set<Action> covered;
  for (const Probe& probe : probes()) {
    covered.insert(probe.action);
    for (const Caller& caller : callers) {
      const Authority& row = authority_of(probe.action);
      Facts facts = probe.facts;
      facts.is_own = facts.is_own && caller.holder == Holder::kMember;
      const Rule rule = row.rules[static_cast<std::size_t>(caller.holder)];
      const bool allowed = rule == Rule::kYes || (rule == Rule::kOwn && facts.is_own) ||
                           (rule == Rule::kSystem && facts.is_system);
      const std::string path = fill(probe.path, caller);
      const Answer answer =
          ask(probe.method, "/village" + path, caller.bearer, fill(probe.body, caller));
      const std::string what = fmt::format("{} by {}: {} {} {}", row.what, to_string(caller.holder),
                                           path, answer.status, bj::serialize(answer.body));
      if (allowed) {
        EXPECT_TRUE(answer.status == 200 || answer.status == 201 || answer.status == 404) << what;
      } else {
        EXPECT_EQ(answer.status, 403) << what;
        EXPECT_EQ(answer.reason(), "not_allowed") << what;
      }
    }
  }
  // Holds and keys have tests of their own: TokenAccess.
  for (const Authority& row : authority_table())
    if (row.action != Action::kCaptureHold && row.action != Action::kReleaseHold &&
        row.action != Action::kMakeKey) {
      EXPECT_TRUE(covered.contains(row.action)) << row.what;
    }
}

COFFER_ON_EVERY_ENGINE(TokenRoles);

}  // namespace
}  // namespace coffer::token
