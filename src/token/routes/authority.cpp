#include "token/routes/authority.h"

#include <array>
#include <optional>

#include "base/check.h"
#include "base/result.h"

namespace coffer::token {
namespace {

using enum Action;
using enum Rule;

// In the order of Holder: host, operator, issuer, auditor, member, key.
constexpr std::array<Authority, kActions> kTable = {{
    {kReadSummary, "supply, statistics, checkpoints", {kYes, kYes, kYes, kYes, kYes, kYes}, "read"},
    {kFindUser, "find a user by name or id", {kYes, kYes, kYes, kYes, kYes, kYes}, "read"},
    {kListUsers, "list users, accounts, wallets", {kYes, kYes, kYes, kYes, kNo, kYes}, "read"},
    {kReadWallet,
     "balance, history, statement, holds and proofs of a wallet",
     {kYes, kYes, kSystem, kYes, kOwn, kYes},
     "read"},
    {kReadHistory,
     "history and events of the whole community",
     {kYes, kYes, kNo, kYes, kNo, kYes},
     "read"},
    {kTransfer, "transfer from a user's wallet", {kYes, kNo, kNo, kNo, kOwn, kYes}, "transfer"},
    {kDistribute,
     "distribute from a system wallet",
     {kYes, kNo, kYes, kNo, kNo, kYes},
     "distribute"},
    {kIssue, "issue tokens", {kYes, kNo, kYes, kNo, kNo, kYes}, "issue"},
    {kOpenHold, "open a hold", {kYes, kNo, kSystem, kNo, kOwn, kYes}, "hold"},
    {kCaptureHold, "capture a hold", {kYes, kNo, kParty, kNo, kParty, kParty}, "hold"},
    {kReleaseHold,
     "release a hold",
     {kYes, kNo, kPartyNotPayer, kNo, kPartyNotPayer, kParty},
     "hold"},
    {kManageUsers,
     "create, rename, delete, reactivate and link users; set limits",
     {kYes, kYes, kNo, kNo, kNo, kYes},
     "users"},
    {kFreeze, "freeze and unfreeze a wallet", {kYes, kYes, kNo, kNo, kNo, kYes}, "freeze"},
    {kReverse,
     "reverse a transaction, erase its memo",
     {kYes, kYes, kNo, kNo, kNo, kYes},
     "reverse"},
    {kCheck, "check all balances", {kYes, kYes, kNo, kYes, kNo, kYes}, "audit"},
    {kReadAudit, "read the audit and the roles", {kYes, kNo, kNo, kYes, kNo, kYes}, "audit"},
    {kMakeKey, "make an API key within one's own rights", {kYes, kYes, kYes, kYes, kNo, kNo}, ""},
    {kListKeys, "list API keys", {kYes, kYes, kNo, kYes, kNo, kYes}, "audit"},
    {kRevokeKey, "revoke an API key", {kYes, kYes, kOwn, kOwn, kNo, kNo}, ""},
    {kAdminister, "grant roles, create system accounts", {kYes, kNo, kNo, kNo, kNo, kNo}, ""},
}};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kActions; ++i)
    if (kTable[i].action != static_cast<Action>(i)) return false;
  return true;
}
static_assert(is_in_order());

bool holds(Rule rule, const Facts& facts) {
  switch (rule) {
    case kNo: return false;
    case kYes: return true;
    case kOwn: return facts.is_own;
    case kSystem: return facts.is_system;
    case kParty: return facts.is_recipient || facts.is_creator;
    case kPartyNotPayer: return (facts.is_recipient || facts.is_creator) && !facts.is_payer;
  }
  return false;
}

Holder holder_of(Role role) {
  switch (role) {
    case Role::kOperator: return Holder::kOperator;
    case Role::kIssuer: return Holder::kIssuer;
    case Role::kAuditor: return Holder::kAuditor;
    case Role::kMember: break;
  }
  return Holder::kMember;
}

Rule rule_of(const Authority& row, Holder holder) {
  return row.rules[static_cast<std::size_t>(holder)];
}

// The strongest right of a person to an action, whatever the facts.
bool has_always(const Principal& who, const Authority& row) {
  if (who.kind == Principal::Kind::kHost) return rule_of(row, Holder::kHost) == kYes;
  if (who.kind == Principal::Kind::kService)
    return rule_of(row, Holder::kKey) == kYes && who.scopes.contains(std::string(row.scope));
  return std::ranges::any_of(who.roles,
                             [&](Role role) { return rule_of(row, holder_of(role)) == kYes; });
}

}  // namespace

std::span<const Authority> authority_table() {
  return kTable;
}

const Authority& authority_of(Action action) {
  return kTable[static_cast<std::size_t>(action)];
}

bool is_allowed(const Principal& who, Action action, const Facts& facts) {
  const Authority& row = authority_of(action);
  switch (who.kind) {
    case Principal::Kind::kHost: return holds(rule_of(row, Holder::kHost), facts);
    case Principal::Kind::kService:
      return !row.scope.empty() && who.scopes.contains(std::string(row.scope)) &&
             holds(rule_of(row, Holder::kKey), facts);
    case Principal::Kind::kPerson: break;
  }
  return std::ranges::any_of(
      who.roles, [&](Role role) { return holds(rule_of(row, holder_of(role)), facts); });
}

Error forbidden(const Principal& who, Action action) {
  const Authority& row = authority_of(action);
  std::string held;
  if (who.kind == Principal::Kind::kService) {
    held = row.scope.empty() ? "no API key may do this"
                             : fmt::format("the key needs the scope '{}'", row.scope);
  } else {
    std::vector<std::string_view> roles;
    roles.reserve(who.roles.size());
    for (const Role role : who.roles) roles.push_back(to_string(role));
    held = roles.empty() ? "you have no role in this community"
                         : fmt::format("your role here is {}", fmt::join(roles, ", "));
  }
  Error error = make_error(Code::kForbidden, fmt::format("not allowed: {}; {}", row.what, held));
  error.reason = "not_allowed";
  return error;
}

std::vector<std::string> known_scopes() {
  std::set<std::string> scopes;
  for (const Authority& row : kTable)
    if (!row.scope.empty()) scopes.emplace(row.scope);
  return {scopes.begin(), scopes.end()};
}

std::string find_excess_scope(const Principal& maker, std::span<const std::string> scopes) {
  for (const std::string& scope : scopes) {
    bool is_known = false;
    for (const Authority& row : kTable) {
      if (row.scope != scope) continue;
      is_known = true;
      // A key acts as a party of the holds that it opened: who may open all may give that.
      const bool is_party = rule_of(row, Holder::kKey) == kParty;
      if (!is_party && !has_always(maker, row)) return scope;
    }
    if (!is_known) return scope;
  }
  return {};
}

std::string_view to_string(Holder holder) {
  constexpr std::string_view kNames[] = {"host", "operator", "issuer", "auditor", "member", "key"};
  return kNames[static_cast<std::size_t>(holder)];
}

std::string_view to_string(Rule rule) {
  constexpr std::string_view kNames[] = {"–",
                                         "yes",
                                         "own",
                                         "system wallets",
                                         "as recipient or opener",
                                         "as recipient or opener, not as payer"};
  return kNames[static_cast<std::size_t>(rule)];
}

std::string authority_markdown() {
  std::string out = "| |";
  for (std::size_t i = 0; i < kHolders; ++i)
    out += fmt::format(" {} |", to_string(static_cast<Holder>(i)));
  out += " scope of a key |\n|---|";
  for (std::size_t i = 0; i <= kHolders; ++i) out += "---|";
  out += '\n';
  for (const Authority& row : kTable) {
    out += fmt::format("| {} |", row.what);
    for (const Rule rule : row.rules) out += fmt::format(" {} |", to_string(rule));
    out += row.scope.empty() ? " – |\n" : fmt::format(" `{}` |\n", row.scope);
  }
  return out;
}

}  // namespace coffer::token
