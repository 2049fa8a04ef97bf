#include <fmt/ranges.h>

#include "token/account/test_village.h"

namespace coffer::token {
namespace {

using village::id_of;
using village::kNow;
using village::outcome;

class TokenImport : public village::VillageTest {
 protected:
  void SetUp() override {
    VillageTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    account_ = store().system_accounts()->front().id;
  }
  ImportReport import(const std::vector<ImportRow>& rows, bool dry_run = false) {
    const auto report = store().import_members(rows, account_, dry_run, operator_);
    EXPECT_TRUE(report) << report.error().message;
    return report.value_or(ImportReport{});
  }
  // Everything that an import could change.
  std::vector<std::int64_t> state() {
    return {count("@users"),        count("@wallets"), count("@external_identities"),
            count("@transactions"), count("@audit"),   (*store().find_wallet(pool_))->balance};
  }
  static std::string joined(const std::vector<std::string>& lines) {
    return fmt::format("{}", fmt::join(lines, "; "));
  }

  Uuid account_{};
};
COFFER_ON_EVERY_ENGINE(TokenImport);

TEST_P(TokenImport, MembersGetWalletsIdentitiesAndBalances) {
  const std::vector<ImportRow> rows = {
      {"alice", 100, ExternalIdentity{"https://id.example", "a"}, id_of(1)},
      {"bob", 0, {}, {}},
      {"carol", 9'900, {}, id_of(3)}};
  const auto before = state();
  const ImportReport dry = import(rows, true);
  EXPECT_EQ(joined(dry.problems), "");
  EXPECT_EQ(dry.users, 3u);
  EXPECT_EQ(dry.identities, 1u);
  EXPECT_EQ(dry.transfers, 2u);
  EXPECT_EQ(dry.tokens, 10'000);
  EXPECT_EQ(state(), before);

  const ImportReport done = import(rows);
  EXPECT_EQ(joined(done.problems), "");
  EXPECT_EQ(done.tokens, 10'000);
  EXPECT_EQ(state(), (std::vector<std::int64_t>{3, 4, 1, 3, before[4] + 1, 0}));
  const auto alice = store().find_user_by_identity(*rows[0].identity);
  ASSERT_TRUE(alice && *alice);
  EXPECT_EQ((*alice)->id, id_of(1));
  EXPECT_EQ((*alice)->name, "alice");
  EXPECT_EQ((*store().find_wallet((*alice)->wallet))->balance, 100);
  const auto history = store().history({.wallet = (*alice)->wallet});
  ASSERT_TRUE(history);
  ASSERT_EQ(history->items.size(), 1u);
  EXPECT_EQ(history->items[0].actor, "user:operator");
  EXPECT_EQ(history->items[0].from, pool_);
  EXPECT_TRUE(store().check()->is_consistent);
  EXPECT_EQ(audits("import_members"), 1);
  EXPECT_EQ(count("@wallet_events WHERE kind = 4 AND actor = 'user:operator'"), 3);
}

TEST_P(TokenImport, ManyMembersInOneTransaction) {
  move(pool_, pool_, 1'000'000);
  std::vector<ImportRow> rows;
  rows.reserve(2'500);
  for (std::size_t i = 0; i < 2'500; ++i)
    rows.push_back({fmt::format("member_{}", i), static_cast<std::int64_t>(i),
                    ExternalIdentity{"https://id.example", std::to_string(i)}});
  const std::int64_t total = 2'499 * 2'500 / 2;
  move(pool_, pool_, total);
  const ImportReport done = import(rows);
  EXPECT_EQ(joined(done.problems), "");
  EXPECT_EQ(done.transfers, 2'499u);
  EXPECT_EQ(done.tokens, total);
  EXPECT_EQ(count("@users"), 2'500);
  EXPECT_EQ(store().supply()->circulation, total);
  EXPECT_TRUE(store().check()->is_consistent);
  // The same list again: every identity belongs to somebody.
  move(pool_, pool_, total);
  const auto before = state();
  const ImportReport again = import(rows);
  EXPECT_EQ(again.problems.size(), 1'001u);
  EXPECT_EQ(again.problems.back(), "and 1500 more problems");
  EXPECT_EQ(state(), before);
}

TEST_P(TokenImport, EveryProblemIsToldAndNothingChanges) {
  const User alice = make_user("alice");
  const ExternalIdentity known{"https://id.example", "a"};
  ASSERT_TRUE(store().link_identity(alice.id, known, operator_));
  ASSERT_TRUE(store().set_limits(pool_, {5'000, 8'000}, operator_));
  const auto before = state();
  struct Case {
    std::vector<ImportRow> rows;
    std::string problems;
  };
  const std::vector<Case> cases = {
      {{{"ok_name", 1}, {"no name", 1}}, "line 2: username: only letters"},
      {{{"ab", 1}}, "line 1: username: 2 characters"},
      {{{"nul\xff", 1}}, "line 1: username: not valid UTF-8"},
      {{{"bob", -1}}, "line 1: balance: -1; expected 0 or more"},
      {{{"bob", 1, ExternalIdentity{"", "x"}}}, "line 1: issuer: 0 characters"},
      {{{"bob", 1, {}, id_of(7)}, {"ben", 1, {}, id_of(7)}}, "line 2: user "},
      {{{"bob", 1, ExternalIdentity{"i", "s"}}, {"ben", 1, ExternalIdentity{"i", "s"}}},
       "line 2: this identity stands in line 1 already"},
      {{{"bob", 1, {}, alice.id}}, "line 1: user " + to_string(alice.id) + " exists"},
      {{{"bob", 1, known}}, "line 1: this identity belongs to user " + to_string(alice.id)},
      {{{"bob", 5'001}}, "line 1: balance: 5001; the paying wallet's limit per transfer is 5000"},
      {{{"bob", 4'000}, {"ben", 4'001}}, "limit per day leaves 8000"},
      {{{"bob", 5'000}, {"ben", 5'000}, {"bill", 1}}, "has 10000 available"},
      {{{"bob", INT64_MAX}, {"ben", INT64_MAX}}, "more than 9223372036854775807"},
      {{{"bob", 1, {}, {}, 17}, {"x", 1, {}, {}, 42}}, "line 42: username"}};
  for (const Case& each : cases)
    for (const bool dry_run : {true, false}) {
      const ImportReport report = import(each.rows, dry_run);
      EXPECT_NE(joined(report.problems).find(each.problems), std::string::npos)
          << joined(report.problems) << " for " << each.problems;
      EXPECT_EQ(state(), before) << each.problems;
    }
}

TEST_P(TokenImport, RequestsThatCannotBeOnesAreRefused) {
  const std::vector<ImportRow> one = {{"bob", 1}};
  const auto before = state();
  for (const bool dry_run : {true, false}) {
    EXPECT_EQ(outcome(store().import_members(one, id_of(99), dry_run, operator_)), "not_found");
    EXPECT_EQ(outcome(store().import_members(one, account_, dry_run, {""})), "invalid_input");
    const std::vector<ImportRow> zero = {{"bob", 1, {}, Uuid{}}};
    EXPECT_EQ(outcome(store().import_members(zero, account_, dry_run, operator_)), "invalid_input");
    const std::vector<ImportRow> many(100'001, one.front());
    EXPECT_EQ(outcome(store().import_members(many, account_, dry_run, operator_)), "too_large");
    EXPECT_EQ(import({}, dry_run).users, 0u);
  }
  EXPECT_EQ(state(), before);
}

}  // namespace
}  // namespace coffer::token
