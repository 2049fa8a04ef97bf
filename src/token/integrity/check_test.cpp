// What a check finds after somebody has switched the protection off.
#include "token/account/test_village.h"

namespace coffer::token {
namespace {

using village::id_of;
using village::kNow;
using village::outcome;

class TokenChecks : public village::VillageTest {
 protected:
  // The owner of the database can do what no application can.
  void set_balance(const Uuid& wallet, std::int64_t balance) {
    const std::string update = "UPDATE @wallets SET balance = " + std::to_string(balance) +
                               " WHERE id = " + id_text(wallet) + ";";
    if (!is_sqlite()) {
      script(raw("ALTER TABLE @wallets DISABLE TRIGGER prevent_balance_update; " + update +
                 "ALTER TABLE @wallets ENABLE TRIGGER prevent_balance_update"));
      return;
    }
    auto connection = db().acquire();
    ASSERT_TRUE(connection);
    const auto trigger = connection->value<std::string>(
        "SELECT sql FROM sqlite_master WHERE name = 'prevent_balance_update'");
    ASSERT_TRUE(trigger && *trigger);
    script("DROP TRIGGER prevent_balance_update; " + raw(update) + **trigger);
  }
};
COFFER_ON_EVERY_ENGINE(TokenChecks);

TEST_P(TokenChecks, FreshLedgerIsConsistent) {
  const User alice = make_user("alice");
  move(pool_, alice.wallet, 100);
  move(alice.wallet, pool_, 100);  // a whole balance
  const auto report = store().check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_consistent);
  EXPECT_EQ(report->total_balance, 10'000);
  EXPECT_EQ(report->total_issuance, 10'000);
  EXPECT_EQ(report->checked_at_ms, kNow);
  EXPECT_TRUE(report->differences.empty());
  EXPECT_TRUE(report->orphans.empty());
}

TEST_P(TokenChecks, EmptyLedgerIsConsistent) {
  if (is_sqlite()) GTEST_SKIP() << "a community is a file there";
  auto other = Store::open(db(), {.community = "empty_one", .schema = sql::Schema::kMigrate});
  ASSERT_TRUE(other) << other.error().message;
  const auto report = (*other)->check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_consistent);
  EXPECT_EQ(report->total_issuance, 0);
}

// T4: the sums agree, and yet somebody's money was moved.
TEST_P(TokenChecks, MoneyMovedBetweenWalletsIsFoundAndRebuilt) {
  const User alice = make_user("alice"), bob = make_user("bob");
  move(pool_, alice.wallet, 500);
  move(pool_, bob.wallet, 500);
  set_balance(alice.wallet, 400);
  set_balance(bob.wallet, 600);
  const auto report = store().check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->is_consistent);
  EXPECT_EQ(report->total_balance, report->total_issuance);
  ASSERT_EQ(report->differences.size(), 2u);
  const auto& wrong =
      *std::ranges::find(report->differences, bob.wallet, &WalletDifference::wallet);
  EXPECT_EQ(wrong.balance, 600);
  EXPECT_EQ(wrong.history_balance, 500);
  EXPECT_EQ(wrong.entries_balance, 500);

  const auto looked = store().rebuild_balances(true, operator_);
  ASSERT_TRUE(looked) << looked.error().message;
  EXPECT_EQ(looked->size(), 2u);
  EXPECT_FALSE(store().check()->is_consistent);
  EXPECT_EQ(audits("rebuild_balances"), 0);
  for (const std::size_t expected : {2u, 0u}) {
    const auto rebuilt = store().rebuild_balances(false, operator_);
    ASSERT_TRUE(rebuilt) << rebuilt.error().message;
    EXPECT_EQ(rebuilt->size(), expected);
    EXPECT_TRUE(store().check()->is_consistent);
  }
  EXPECT_EQ(audits("rebuild_balances"), 1);
  EXPECT_EQ((*store().find_wallet(bob.wallet))->balance, 500);
  EXPECT_EQ(outcome(store().rebuild_balances(false, {""})), "invalid_input");
}

TEST_P(TokenChecks, WalletsWithoutOwnersAreListed) {
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(execute(raw("INSERT INTO @wallets (id, created_at, updated_at) VALUES (" +
                            id_text(id_of(i)) + ", $1, $1)"),
                        {kNow}));
  }
  const auto report = store().check();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->orphans, (std::vector{id_of(1), id_of(2), id_of(3)}));
  EXPECT_TRUE(report->is_consistent);
}

}  // namespace
}  // namespace coffer::token
