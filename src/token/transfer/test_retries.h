// A ledger whose first insert fails in a given way: what another session does before the next
// attempt is what that one finds stored (PostgreSQL).
#pragma once

#include "token/transfer/test_ledger.h"

namespace coffer::token::test {

class RetryTest : public LedgerTest {
 protected:
  void SetUp() override {
    options_.pause = [this](std::int64_t) { run_between(); };
    options_.on_statement = [this](std::string_view sql) {
      if (at_look_ && sql.contains("lock_wallets(")) run_between();
    };
    LedgerTest::SetUp();
    if (IsSkipped()) return;
    alice_ = make_user_wallet(1'000);
    bob_ = make_user_wallet();
    for (int i = 0; i < 2; ++i) all_.push_back(make_transfer(alice_, bob_, 10));
    (void)store();
  }

  // Once, before the next attempt of a transaction.
  void before_next_attempt(std::function<void()> todo) { between_ = std::move(todo); }
  // Once, before wallets are locked and read.
  void before_next_look(std::function<void()> todo) {
    between_ = std::move(todo);
    at_look_ = true;
  }

  // The first insert from now on ends so; `when` as in CREATE TRIGGER.
  void fail_first_insert(const std::string& statement,
                         const std::string& when =
                             "TRIGGER fail_first BEFORE INSERT ON"
                             " village.transactions FOR EACH STATEMENT") {
    for (const std::string& text :
         {std::string("CREATE SEQUENCE inserts"),
          "CREATE FUNCTION fail_first() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
          " IF nextval('public.inserts') = 1 THEN " +
              statement + "; END IF; RETURN NULL; END $$",
          "CREATE " + when + " EXECUTE FUNCTION public.fail_first()"})
      ASSERT_TRUE(execute(text));
  }
  void lose_connection() { fail_first_insert(kEndSession); }
  void deadlock() { fail_first_insert(kDeadlock); }
  void lose_connection_at_commit() { fail_first_insert(kEndSession, kAtCommit); }
  void deadlock_at_commit() { fail_first_insert(kDeadlock, kAtCommit); }
  // As somebody else, or as the commit whose answer was lost.
  void insert_all(std::span<const Transfer> transfers) {
    for (const Transfer& transfer : transfers) EXPECT_TRUE(insert(transfer));
  }
  void expect_all_done() {
    EXPECT_EQ(balance(bob_), 20);
    EXPECT_FALSE(between_);
    expect_consistent();
  }

  static constexpr const char* kAtCommit =
      "CONSTRAINT TRIGGER fail_first AFTER INSERT ON village.transactions"
      " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW";
  static constexpr const char* kDeadlock = "RAISE EXCEPTION 'a deadlock' USING ERRCODE = '40P01'";
  static constexpr const char* kEndSession = "PERFORM pg_terminate_backend(pg_backend_pid())";
  Uuid alice_{}, bob_{};
  std::vector<Transfer> all_;

 private:
  void run_between() {
    at_look_ = false;
    if (const auto todo = std::exchange(between_, nullptr)) todo();
  }

  std::function<void()> between_;
  bool at_look_ = false;
};

}  // namespace coffer::token::test
