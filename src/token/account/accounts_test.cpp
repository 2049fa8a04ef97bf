#include <thread>

#include "token/account/test_village.h"

namespace coffer::token {
namespace {

using village::id_of;
using village::kDayMs;
using village::kNow;
using village::outcome;

class TokenAccounts : public village::VillageTest {};
COFFER_ON_EVERY_ENGINE(TokenAccounts);

TEST_P(TokenAccounts, UserIsMadeWithItsWalletAndAudited) {
  const auto made = store().create_user(id_of(1), "alice", operator_);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->name, "alice");
  EXPECT_EQ(made->created_at_ms, kNow);
  EXPECT_EQ(made->deleted_at_ms, std::nullopt);
  const auto wallet = store().find_wallet(made->wallet);
  ASSERT_TRUE(wallet && *wallet);
  EXPECT_EQ((*wallet)->balance, 0);
  EXPECT_FALSE((*wallet)->is_frozen);
  EXPECT_EQ((*wallet)->owner_type, OwnerType::kUser);
  EXPECT_EQ((*wallet)->owner, id_of(1));
  EXPECT_EQ((*wallet)->owner_name, "alice");
  const auto audit = store().audit({});
  ASSERT_TRUE(audit);
  const auto entry = std::ranges::find(audit->items, "create_user", &AuditEntry::action);
  ASSERT_NE(entry, audit->items.end());
  EXPECT_EQ(entry->actor, "user:operator");
  EXPECT_EQ(entry->reason, "a test");
  EXPECT_EQ(entry->target, to_string(id_of(1)));
  EXPECT_EQ(entry->at_ms, kNow);
  EXPECT_EQ(entry->detail, R"({"username":"alice","wallet":")" + to_string(made->wallet) + R"("})");
  EXPECT_EQ(count("@wallet_events WHERE kind = 4 AND actor = 'user:operator' AND reason = 'a test'"
                  " AND subject_id = " +
                  id_text(id_of(1))),
            1);
}

TEST_P(TokenAccounts, SameUserAgainAnswersAsTheFirstTime) {
  const auto first = store().create_user(id_of(1), "alice", operator_);
  advance(1'000);
  const auto again = store().create_user(id_of(1), "alice", operator_);
  ASSERT_TRUE(first && again);
  EXPECT_EQ(again->wallet, first->wallet);
  EXPECT_EQ(again->created_at_ms, first->created_at_ms);
  EXPECT_EQ(outcome(store().create_user(id_of(1), "bob", operator_)), "conflict id_taken");
  EXPECT_EQ(audits("create_user"), 1);
  EXPECT_EQ(count("@wallets"), 2);
}

TEST_P(TokenAccounts, SameUserAgainAfterRenameIsTheSameUser) {
  const auto first = store().create_user(id_of(1), "alice", operator_);
  // Another one of the same name and time.
  ASSERT_TRUE(store().create_user(id_of(2), "carol", operator_));
  advance(1'000);
  ASSERT_TRUE(store().rename_user(id_of(1), "alicia", operator_));
  ASSERT_TRUE(store().rename_user(id_of(2), "alice", operator_));
  const auto again = store().create_user(id_of(1), "alice", operator_);
  ASSERT_TRUE(first && again) << again.error().message;
  EXPECT_EQ(again->wallet, first->wallet);
  EXPECT_EQ(again->created_at_ms, first->created_at_ms);
  EXPECT_EQ(again->name, "alicia");
  EXPECT_EQ(audits("create_user"), 2);
  EXPECT_EQ(count("@wallets"), 3);
  // Neither what another user was made as, nor a name between.
  ASSERT_TRUE(store().rename_user(id_of(1), "alison", operator_));
  for (const char* name : {"carol", "alicia"})
    EXPECT_EQ(outcome(store().create_user(id_of(1), name, operator_)), "conflict id_taken") << name;
}

TEST_P(TokenAccounts, SameUserMadeTwiceAtOnceIsOneUser) {
  constexpr int kUsers = 8, kCallers = 2;
  for (std::uint64_t i = 1; i <= kUsers; ++i) {
    std::array<Result<User>, kCallers> answers;
    {
      std::vector<std::jthread> threads;
      threads.reserve(answers.size());
      for (auto& answer : answers)
        threads.emplace_back([&] { answer = store().create_user(id_of(i), "alice", operator_); });
    }
    for (const auto& answer : answers) ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answers[0]->wallet, answers[1]->wallet);
  }
  EXPECT_EQ(count("@users"), kUsers);
  EXPECT_EQ(count("@wallets"), kUsers + 1);
  EXPECT_EQ(audits("create_user"), kUsers);
}

TEST_P(TokenAccounts, NamesThatBreakTheRulesAreRefused) {
  const std::int64_t before = count("@audit");
  for (const std::string& name :
       {std::string(), std::string("ab"), std::string("   "), std::string("two words"),
        std::string("al.ice"), std::string("carol\n"), std::string("caf\xc3\xa9"),
        std::string("bad\xff") + "x", std::string("nul\0x", 5), std::string(256, 'a'),
        std::string(100'000, 'a')}) {
    EXPECT_EQ(outcome(store().create_user(id_of(1), name, operator_)), "invalid_input") << name;
    EXPECT_EQ(outcome(store().create_system_account(id_of(1), name, operator_)), "invalid_input");
    EXPECT_EQ(outcome(store().rename_user(id_of(1), name, operator_)), "invalid_input");
  }
  EXPECT_EQ(outcome(store().create_system_account(id_of(1), "Upper", operator_)), "invalid_input");
  EXPECT_EQ(outcome(store().create_system_account(id_of(1), "with-dash", operator_)),
            "invalid_input");
  EXPECT_EQ(outcome(store().create_user(Uuid{}, "alice", operator_)), "invalid_input");
  EXPECT_EQ(count("@users"), 0);
  EXPECT_EQ(count("@audit"), before);
  EXPECT_EQ(outcome(store().create_user(id_of(1), std::string(255, 'a'), operator_)), "ok");
  EXPECT_EQ(outcome(store().create_user(id_of(2), "A_b-9", operator_)), "ok");
}

TEST_P(TokenAccounts, ActorsThatBreakTheRulesAreRefused) {
  for (const Actor& actor :
       {Actor{""}, Actor{std::string(256, 'a')}, Actor{"x", std::string(501, 'r')},
        Actor{"x", "bad\xff"}, Actor{std::string("nul\0x", 5)}}) {
    EXPECT_EQ(outcome(store().create_user(id_of(1), "alice", actor)), "invalid_input");
    EXPECT_EQ(outcome(store().delete_user(id_of(1), actor)), "invalid_input");
    EXPECT_EQ(outcome(store().freeze(pool_, actor)), "invalid_input");
    EXPECT_EQ(outcome(store().set_limits(pool_, {1, 1}, actor)), "invalid_input");
  }
  EXPECT_EQ(outcome(store().create_user(id_of(1), "alice", {"x"})), "ok");
}

TEST_P(TokenAccounts, RenameChangesTheNameAlone) {
  const User alice = make_user("alice");
  advance(1'000);
  const auto renamed = store().rename_user(alice.id, "alicia", operator_);
  ASSERT_TRUE(renamed) << renamed.error().message;
  EXPECT_EQ(renamed->name, "alicia");
  EXPECT_EQ(renamed->created_at_ms, kNow);
  EXPECT_EQ(renamed->updated_at_ms, kNow + 1'000);
  ASSERT_TRUE(store().rename_user(alice.id, "alicia", operator_));
  EXPECT_EQ(audits("rename_user"), 1);
  EXPECT_EQ(outcome(store().rename_user(id_of(99), "nobody", operator_)),
            "not_found user_not_found");
  const auto audit = store().audit({});
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->items.front().detail, R"({"from":"alice","to":"alicia"})");
}

TEST_P(TokenAccounts, DeletedUserCanBeReactivated) {
  const User alice = make_user("alice");
  advance(-5'000);  // the clock was set back: deleted_at is not before created_at (T6)
  for (int i = 0; i < 2; ++i) {
    const auto deleted = store().delete_user(alice.id, operator_);
    ASSERT_TRUE(deleted) << deleted.error().message;
    EXPECT_EQ(deleted->deleted_at_ms, kNow);
    EXPECT_GE(deleted->updated_at_ms, deleted->created_at_ms);
    advance(60'000);
  }
  EXPECT_EQ(audits("delete_user"), 1);
  const auto wallet = store().find_wallet(alice.wallet);
  ASSERT_TRUE(wallet && *wallet);
  EXPECT_EQ((*wallet)->owner_deleted_at_ms, kNow);
  for (int i = 0; i < 2; ++i) {
    const auto back = store().reactivate_user(alice.id, operator_);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->deleted_at_ms, std::nullopt);
  }
  EXPECT_EQ(audits("reactivate_user"), 1);
  EXPECT_EQ(outcome(store().delete_user(id_of(99), operator_)), "not_found user_not_found");
  EXPECT_EQ(outcome(store().reactivate_user(id_of(99), operator_)), "not_found user_not_found");
  EXPECT_EQ(count("@wallet_events WHERE kind IN (6, 7) AND actor = 'user:operator'"), 2);
}

TEST_P(TokenAccounts, FreezeNeedsAReasonAndAWalletOfAUser) {
  const User alice = make_user("alice");
  EXPECT_EQ(outcome(store().freeze(alice.wallet, {"user:operator"})), "invalid_input");
  EXPECT_EQ(outcome(store().unfreeze(alice.wallet, {"user:operator"})), "invalid_input");
  EXPECT_EQ(outcome(store().freeze(id_of(99), operator_)), "not_found wallet_not_found");
  EXPECT_EQ(outcome(store().freeze(pool_, operator_)), "conflict system_wallet");
  EXPECT_EQ(audits("freeze_wallet"), 0);
  EXPECT_EQ(store().freeze(alice.wallet, operator_), true);
  EXPECT_EQ(store().freeze(alice.wallet, operator_), false);
  EXPECT_EQ(audits("freeze_wallet"), 1);
  EXPECT_TRUE((*store().find_wallet(alice.wallet))->is_frozen);
  EXPECT_EQ(count("@wallet_events WHERE kind = 2 AND reason = 'a test'"), 1);
  EXPECT_EQ(store().unfreeze(alice.wallet, operator_), true);
  EXPECT_EQ(store().unfreeze(alice.wallet, operator_), false);
  EXPECT_EQ(audits("unfreeze_wallet"), 1);
  EXPECT_FALSE((*store().find_wallet(alice.wallet))->is_frozen);
}

TEST_P(TokenAccounts, LimitsAreSetAndTakenAway) {
  const User alice = make_user("alice");
  move(pool_, alice.wallet, 1'000);
  const auto limits = [&] { return (*store().find_wallet(alice.wallet))->limits; };
  EXPECT_EQ(outcome(store().set_limits(alice.wallet, {-1, {}}, operator_)), "invalid_input");
  EXPECT_EQ(outcome(store().set_limits(alice.wallet, {{}, -1}, operator_)), "invalid_input");
  EXPECT_EQ(outcome(store().set_limits(id_of(99), {1, 1}, operator_)),
            "not_found wallet_not_found");
  EXPECT_EQ(audits("set_limits"), 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store().set_limits(alice.wallet, {100, 150}, operator_));
  }
  EXPECT_EQ(audits("set_limits"), 1);
  EXPECT_EQ(limits().per_transfer, 100);
  EXPECT_EQ(limits().per_day, 150);
  move(alice.wallet, pool_, 90);
  EXPECT_EQ((*store().find_wallet(alice.wallet))->spent_today, 90);
  // Limits that go and come back know what was spent.
  ASSERT_TRUE(store().set_limits(alice.wallet, {}, operator_));
  EXPECT_EQ(limits().per_day, std::nullopt);
  ASSERT_TRUE(store().set_limits(alice.wallet, {{}, INT64_MAX}, operator_));
  EXPECT_EQ((*store().find_wallet(alice.wallet))->spent_today, 90);
  advance(kDayMs);
  EXPECT_EQ((*store().find_wallet(alice.wallet))->spent_today, 0);
}

TEST_P(TokenAccounts, SystemAccountsHaveNamesOfTheirOwn) {
  const auto made = store().create_system_account(id_of(1), "rewards", operator_);
  ASSERT_TRUE(made) << made.error().message;
  const auto again = store().create_system_account(id_of(1), "rewards", operator_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->wallet, made->wallet);
  EXPECT_EQ(outcome(store().create_system_account(id_of(1), "other", operator_)),
            "conflict id_taken");
  EXPECT_EQ(outcome(store().create_system_account(id_of(2), "rewards", operator_)),
            "conflict name_taken");
  EXPECT_EQ(audits("create_system_account"), 1);
  const auto all = store().system_accounts();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ(all->at(0).name, "rewards");
  EXPECT_EQ(all->at(1).name, "treasury");
  EXPECT_EQ((*store().find_wallet(made->wallet))->owner_type, OwnerType::kSystemAccount);
}

TEST_P(TokenAccounts, SeedHappensOnce) {
  EXPECT_EQ((*store().find_wallet(pool_))->balance, 10'000);
  const auto again = store().seed({.system_account = "treasury", .issuance = 5}, operator_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->account.wallet, pool_);
  EXPECT_EQ((*store().find_wallet(pool_))->balance, 10'000);
  EXPECT_EQ(outcome(store().seed({.system_account = "another"}, operator_)),
            "conflict already_seeded");
  EXPECT_EQ(outcome(store().seed({.system_account = "another", .issuance = -1}, operator_)),
            "invalid_input");
  EXPECT_EQ(outcome(store().seed({.system_account = "NO"}, operator_)), "invalid_input");
  EXPECT_EQ(audits("seed"), 1);
  EXPECT_EQ(count("@transaction_details WHERE actor = 'user:operator'"), 1);
}

class TokenIdentities : public village::VillageTest {};
COFFER_ON_EVERY_ENGINE(TokenIdentities);

TEST_P(TokenIdentities, OneIdentityBelongsToOneUser) {
  const User alice = make_user("alice"), bob = make_user("bob");
  const ExternalIdentity github{"https://id.example", "alice-1"}, other{"https://id.example", "b"};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store().link_identity(alice.id, github, operator_));
  }
  EXPECT_EQ(audits("link_identity"), 1);
  EXPECT_EQ(outcome(store().link_identity(bob.id, github, operator_)), "conflict identity_taken");
  EXPECT_EQ(outcome(store().link_identity(id_of(99), other, operator_)),
            "not_found user_not_found");
  ASSERT_TRUE(store().link_identity(alice.id, other, operator_));
  const auto links = store().identities(alice.id);
  ASSERT_TRUE(links);
  ASSERT_EQ(links->size(), 2u);
  EXPECT_EQ(links->front().identity.subject, "alice-1");
  EXPECT_EQ(links->front().created_by, "user:operator");
  EXPECT_EQ(outcome(store().identities(id_of(99))), "not_found user_not_found");
  const auto found = store().find_user_by_identity(github);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->id, alice.id);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store().unlink_identity(github, operator_));
  }
  EXPECT_EQ(audits("unlink_identity"), 1);
  EXPECT_EQ(*store().find_user_by_identity(github), std::nullopt);
  ASSERT_TRUE(store().link_identity(bob.id, github, operator_));
}

TEST_P(TokenIdentities, TextsThatCannotBeOnesAreRefused) {
  const User alice = make_user("alice");
  for (const ExternalIdentity& bad :
       {ExternalIdentity{"", "x"}, ExternalIdentity{"x", ""},
        ExternalIdentity{std::string(501, 'i'), "x"}, ExternalIdentity{"x", std::string(256, 's')},
        ExternalIdentity{"bad\xff", "x"}, ExternalIdentity{"x", std::string("n\0l", 3)}}) {
    EXPECT_EQ(outcome(store().link_identity(alice.id, bad, operator_)), "invalid_input");
    EXPECT_EQ(outcome(store().unlink_identity(bad, operator_)), "invalid_input");
    EXPECT_EQ(outcome(store().find_user_by_identity(bad)), "invalid_input");
  }
  // Characters count, not bytes.
  std::string issuer;
  for (int i = 0; i < 500; ++i) issuer += "\xc3\xa9";
  EXPECT_EQ(outcome(store().link_identity(alice.id, {issuer, "x"}, operator_)), "ok");
}

}  // namespace
}  // namespace coffer::token
