// Every cell of the table of rights, compared with one that is written here once more.
#include "token/routes/authority.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace coffer::token {
namespace {

// host, operator, issuer, auditor, member, key: y yes, . no, o own, s system wallet, p as recipient
// or opener, q the same but not as the payer.
struct ExpectedRow {
  Action action;
  const char* cells;
  const char* scope;
};
constexpr ExpectedRow kExpected[] = {
    {Action::kReadSummary, "yyyyyy", "read"},
    {Action::kFindUser, "yyyyyy", "read"},
    {Action::kListUsers, "yyyy.y", "read"},
    {Action::kReadWallet, "yysyoy", "read"},
    {Action::kReadHistory, "yy.y.y", "read"},
    {Action::kTransfer, "y...oy", "transfer"},
    {Action::kDistribute, "y.y..y", "distribute"},
    {Action::kIssue, "y.y..y", "issue"},
    {Action::kOpenHold, "y.s.oy", "hold"},
    {Action::kCaptureHold, "y.p.pp", "hold"},
    {Action::kReleaseHold, "y.q.qp", "hold"},
    {Action::kManageUsers, "yy...y", "users"},
    {Action::kFreeze, "yy...y", "freeze"},
    {Action::kReverse, "yy...y", "reverse"},
    {Action::kCheck, "yy.y.y", "audit"},
    {Action::kReadAudit, "y..y.y", "audit"},
    {Action::kMakeKey, "yyyy..", ""},
    {Action::kListKeys, "yy.y.y", "audit"},
    {Action::kRevokeKey, "yyoo..", ""},
    {Action::kAdminister, "y.....", ""},
};

Principal holder_with_all(Holder holder) {
  Principal who{.name = "somebody"};
  switch (holder) {
    case Holder::kHost: who.kind = Principal::Kind::kHost; break;
    case Holder::kOperator: who.roles = {Role::kOperator}; break;
    case Holder::kIssuer: who.roles = {Role::kIssuer}; break;
    case Holder::kAuditor: who.roles = {Role::kAuditor}; break;
    case Holder::kMember: who.roles = {Role::kMember}; break;
    case Holder::kKey: {
      who.kind = Principal::Kind::kService;
      const auto all = known_scopes();
      who.scopes = {all.begin(), all.end()};
      break;
    }
  }
  return who;
}

bool expected(char cell, const Facts& facts) {
  const bool is_party = facts.is_recipient || facts.is_creator;
  switch (cell) {
    case 'y': return true;
    case 'o': return facts.is_own;
    case 's': return facts.is_system;
    case 'p': return is_party;
    case 'q': return is_party && !facts.is_payer;
    default: return false;
  }
}

TEST(Authority, EveryCellWithEveryFact) {
  ASSERT_EQ(std::size(kExpected), kActions);
  for (const ExpectedRow& row : kExpected)
    for (std::size_t column = 0; column < kHolders; ++column)
      for (unsigned bits = 0; bits < 32; ++bits) {
        const Facts facts{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0,
                          (bits & 16) != 0};
        const Principal who = holder_with_all(static_cast<Holder>(column));
        EXPECT_EQ(is_allowed(who, row.action, facts), expected(row.cells[column], facts))
            << authority_of(row.action).what << " by " << to_string(static_cast<Holder>(column))
            << ", facts " << bits;
      }
}

TEST(Authority, KeysNeedTheScopeOfTheAction) {
  for (const ExpectedRow& row : kExpected) {
    EXPECT_EQ(authority_of(row.action).scope, row.scope);
    const Facts all{true, true, false, true, true};
    for (const std::string& scope : known_scopes()) {
      const Principal who{.kind = Principal::Kind::kService, .name = "key:1", .scopes = {scope}};
      EXPECT_EQ(is_allowed(who, row.action, all), scope == row.scope)
          << authority_of(row.action).what << " with " << scope;
    }
  }
}

TEST(Authority, NobodyWithoutARole) {
  const Facts all{true, true, false, true, true};
  for (const ExpectedRow& row : kExpected)
    EXPECT_FALSE(is_allowed(Principal{.name = "subject:x"}, row.action, all));
}

TEST(Authority, RolesAddUp) {
  Principal both = holder_with_all(Holder::kOperator);
  EXPECT_FALSE(is_allowed(both, Action::kIssue));
  both.roles.insert(Role::kIssuer);
  EXPECT_TRUE(is_allowed(both, Action::kIssue));
  EXPECT_TRUE(is_allowed(both, Action::kFreeze));
}

TEST(Authority, KeysNeverExceedTheirMaker) {
  const auto excess = [](Holder maker, std::vector<std::string> scopes) {
    return find_excess_scope(holder_with_all(maker), scopes);
  };
  EXPECT_EQ(excess(Holder::kHost, known_scopes()), "");
  EXPECT_EQ(excess(Holder::kOperator, {"read", "users", "freeze", "reverse"}), "");
  for (const char* scope : {"issue", "distribute", "transfer", "hold", "audit"})
    EXPECT_EQ(excess(Holder::kOperator, {"read", scope}), scope);
  EXPECT_EQ(excess(Holder::kIssuer, {"issue", "distribute"}), "");
  for (const char* scope : {"read", "freeze", "reverse", "hold", "transfer"})
    EXPECT_EQ(excess(Holder::kIssuer, {scope}), scope);
  EXPECT_EQ(excess(Holder::kAuditor, {"read", "audit"}), "");
  EXPECT_EQ(excess(Holder::kAuditor, {"users"}), "users");
  EXPECT_EQ(excess(Holder::kHost, {"everything"}), "everything");  // unknown
}

TEST(Authority, GuideHasTheTable) {
  std::ifstream in("docs/token.md");
  ASSERT_TRUE(in) << "the working directory must be the project's root";
  std::ostringstream page;
  page << in.rdbuf();
  EXPECT_NE(page.str().find("\n\n" + authority_markdown()), std::string::npos)
      << "docs/token.md must contain this table:\n"
      << authority_markdown();
}

}  // namespace
}  // namespace coffer::token
