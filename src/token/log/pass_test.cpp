// Passes of the sequencer, one at a time.
#include "token/log/pass.h"

#include "token/log/test_log_community.h"

namespace coffer::token {
namespace {

using LogPass = test::LogTest;
COFFER_ON_EVERY_ENGINE(LogPass);

TEST_P(LogPass, TakesEverythingInOrderAndSignsIt) {
  EXPECT_TRUE(is_pass_due(community(), false).value());
  const Uuid first = pay(bank_, alice_, 100);
  freeze(alice_, true);
  freeze(alice_, false);
  const Uuid second = pay(alice_, bob_, 40);
  const Pass done = pass();
  EXPECT_FALSE(done.is_full);
  const auto entries = checked_entries();
  EXPECT_EQ(done.size, entries.size());
  EXPECT_EQ(done.entries, entries.size());
  ASSERT_TRUE(done.checkpoint);
  EXPECT_EQ(done.checkpoint->size, entries.size());
  EXPECT_EQ(done.checkpoint->at_ms, kNow);
  // The account and its issuance come first.
  ASSERT_EQ(entries.size(), 6u);
  EXPECT_TRUE(entries[2].contains(to_string(first)));
  EXPECT_TRUE(entries[3].contains(R"("kind":2)"));
  EXPECT_TRUE(entries[4].contains(R"("kind":3)"));
  EXPECT_TRUE(entries[5].contains(to_string(second)));
  EXPECT_TRUE(entries[5].contains(R"("amount":"40")"));
  EXPECT_EQ(count("SELECT count(*) FROM @log_outbox"), 0);
}

TEST_P(LogPass, WithoutWorkChangesNothing) {
  pass();
  EXPECT_FALSE(is_pass_due(community(), true).value());
  const Pass idle = pass();
  EXPECT_EQ(idle.entries, 0u);
  EXPECT_FALSE(idle.checkpoint);
  EXPECT_EQ(log().checkpoints()->items.size(), 1u);
}

TEST_P(LogPass, EverySizeIsReachedInStepsOfAnySize) {
  for (std::size_t i = 0; i < 60; ++i) pay(bank_, i % 2 == 0 ? alice_ : bob_, 1);
  std::uint64_t size = 0;
  for (std::size_t step = 1; count("SELECT count(*) FROM @log_outbox") > 0; ++step) {
    const Pass done = pass({.max_entries = step % 7 + 1, .checkpoint_interval_ms = 0});
    EXPECT_EQ(done.size, size + done.entries);
    EXPECT_TRUE(done.checkpoint);
    size = done.size;
  }
  EXPECT_EQ(checked_entries().size(), 62u);
}

// While there is more to do, roots are signed once a second and not with each pass.
TEST_P(LogPass, FullPassesAreSignedOncePerInterval) {
  for (int i = 0; i < 20; ++i) pay(bank_, alice_, 1);
  const PassOptions four{.max_entries = 4, .checkpoint_interval_ms = 1'000};
  EXPECT_TRUE(pass(four).checkpoint);
  EXPECT_FALSE(pass(four).checkpoint);
  advance(999);
  EXPECT_FALSE(pass(four).checkpoint);
  advance(1);
  EXPECT_TRUE(pass(four).checkpoint);
  EXPECT_FALSE(pass(four).checkpoint);
  const Pass last = pass(four);
  EXPECT_FALSE(last.is_full);
  EXPECT_TRUE(last.checkpoint);
  checked_entries();
}

TEST_P(LogPass, WithoutKeyLogsAndIsSignedLater) {
  const auto unsigned_pass = run_pass(community(), nullptr);
  ASSERT_TRUE(unsigned_pass) << unsigned_pass.error().message;
  EXPECT_EQ(unsigned_pass->entries, 2u);
  EXPECT_FALSE(unsigned_pass->checkpoint);
  EXPECT_FALSE(is_pass_due(community(), false).value());
  EXPECT_TRUE(is_pass_due(community(), true).value());
  const Pass later = pass();
  EXPECT_EQ(later.entries, 0u);
  EXPECT_TRUE(later.checkpoint);
  checked_entries();
}

TEST_P(LogPass, TimeOfCheckpointsNeverFalls) {
  pass();
  advance(-5'000);
  pay(bank_, alice_, 1);
  EXPECT_EQ(pass().checkpoint->at_ms, kNow);
}

TEST_P(LogPass, EntryHasTheHashOfTheMemoAlsoAfterErasure) {
  const Uuid id = pay_with_memo("for bread");
  pass();
  const auto before = checked_entries();
  EXPECT_TRUE(before.back().contains(R"("memo_hash":")"));
  EXPECT_FALSE(before.back().contains("bread"));
  run("UPDATE @transaction_details SET memo = NULL, memo_salt = NULL, erased_at = 1"
      " WHERE transaction_id = $1::uuid",
      {community().id(id)});
  EXPECT_EQ(checked_entries(), before);
}

TEST_P(LogPass, RolledBackWriteIsNotLogged) {
  pass();
  const auto failed = db().run_transaction([&](sql::Transaction& sql) -> Result<> {
    TRY(insert_payment(sql, community(), random_uuid(), bank_, alice_, 1));
    return fail(Code::kCancelled, "on purpose");
  });
  EXPECT_FALSE(failed);
  EXPECT_EQ(pass().entries, 0u);
}

TEST_P(LogPass, LargePassIsWhole) {
  const auto many = db().run_transaction([&](sql::Transaction& sql) -> Result<> {
    for (int i = 0; i < 2'500; ++i)
      TRY(insert_payment(sql, community(), random_uuid(), bank_, alice_, 1));
    return {};
  });
  ASSERT_TRUE(many) << many.error().message;
  EXPECT_EQ(pass().entries, 2'502u);
  EXPECT_EQ(checked_entries().size(), 2'502u);
}

using LogPassOnServer = test::LogTest;
COFFER_ON_EVERY_SERVER(LogPassOnServer);

TEST_P(LogPassOnServer, SecondSequencerStepsAside) {
  auto other = open();
  auto connection = other->acquire(sql::Access::kWrite);
  auto transaction = connection->begin();
  ASSERT_TRUE(transaction->query("SELECT size FROM village.log_head FOR UPDATE"));
  const Pass aside = pass();
  EXPECT_TRUE(aside.is_busy);
  EXPECT_EQ(aside.entries, 0u);
  transaction->rollback();
  EXPECT_EQ(pass().entries, 2u);
}

// Its leaf would lack them, and they could never be added later.
TEST_P(LogPassOnServer, TransactionWhoseDetailsAreBeingAddedWaitsForTheNextPass) {
  const Uuid id = pay(bank_, alice_, 1);
  auto other = open();
  auto connection = other->acquire(sql::Access::kWrite);
  auto transaction = connection->begin();
  const SealedDetail sealed = seal_detail("late");
  ASSERT_TRUE(transaction->execute(
      "INSERT INTO village.transaction_details (transaction_id, memo, memo_salt, memo_hash, actor)"
      " VALUES ($1::uuid, 'late', $2, $3, 'x')",
      {id, sealed.salt, sealed.hash}));
  EXPECT_EQ(pass().entries, 2u);
  ASSERT_TRUE(transaction->commit());
  EXPECT_EQ(pass().entries, 1u);
  EXPECT_TRUE(checked_entries().back().contains(sealed.hash.hex()));
}

// serve runs as a role that may not update most tables (T3).
TEST_P(LogPassOnServer, ApplicationRoleMayRunPasses) {
  static int number = 0;
  const std::string role = fmt::format("log_app_{}_{}", ::getpid(), ++number);
  script("CREATE ROLE " + role);
  script("SET LOCAL search_path = village, pg_temp; SELECT token_grant_application('" + role +
         "')");
  const auto body = [&](sql::Transaction& sql) -> Result<std::int64_t> {
    TRY(sql.script("SET LOCAL ROLE " + role));
    TRY(sql.query("SELECT size FROM village.log_head FOR UPDATE SKIP LOCKED"));
    const auto rows = TRY(
        sql.value<std::int64_t>("SELECT count(*) FROM (SELECT id FROM village.log_outbox LIMIT 10"
                                " FOR UPDATE SKIP LOCKED) o"));
    return rows.value_or(0);
  };
  const auto seen = db().run_transaction(body);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(*seen, 2);
  script("DROP OWNED BY " + role + "; DROP ROLE " + role);
}

}  // namespace
}  // namespace coffer::token
