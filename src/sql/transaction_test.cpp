// Transactions: whole or not at all, again when the database asks for it, and never twice.
#include <future>
#include <thread>

#include "base/random.h"
#include "base/result.h"
#include "sql/migrations.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

using TransactionTest = EngineTest;
COFFER_ON_EVERY_ENGINE(TransactionTest);

TEST_P(TransactionTest, RollsBackWhole) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY)");
  const auto refused = db().run_transaction([](Transaction& t) -> Result<> {
    (void)TRY(t.execute("INSERT INTO t VALUES (1)"));
    return fail(Code::kNotFound, "the body's own error");
  });
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  {
    auto connection = db().acquire(Access::kWrite);
    auto forgotten = connection->begin().value();
    ASSERT_TRUE(forgotten.execute("INSERT INTO t VALUES (2)"));
  }
  {
    auto connection = db().acquire(Access::kWrite);
    auto kept = connection->begin().value();
    ASSERT_TRUE(kept.execute("INSERT INTO t VALUES (3)"));
    ASSERT_TRUE(kept.commit());
  }
  EXPECT_EQ(number("SELECT sum(id) FROM t"), 3);
}

TEST_P(TransactionTest, AfterAFailedStatementThereIsOnlyRollback) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY)");
  const auto done = db().run_transaction([](Transaction& t) -> Result<> {
    (void)TRY(t.execute("INSERT INTO t VALUES (1)"));
    EXPECT_FALSE(t.execute("INSERT INTO t VALUES (1)"));
    const auto next = t.execute("INSERT INTO t VALUES (2)");
    EXPECT_EQ(next.error().code, Code::kConflict);
    return {};  // as if nothing had happened
  });
  EXPECT_EQ(done.error().code, Code::kConflict);
  EXPECT_EQ(number("SELECT count(*) FROM t"), 0);
}

TEST_P(TransactionTest, RefusalOfATriggerCarriesItsCode) {
  const auto make_trigger = [&](const std::string& name, const std::string& code) {
    script("CREATE TABLE " + name + "(id BIGINT PRIMARY KEY)");
    if (is_sqlite())
      return script("CREATE TRIGGER no_" + name + " BEFORE INSERT ON " + name +
                    " WHEN NEW.id < 0 BEGIN SELECT RAISE(ABORT, '" +
                    (code.empty() ? "" : code + " ") + "Id is negative'); END");
    script("CREATE FUNCTION no_" + name + "() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF " +
           "NEW.id < 0 THEN RAISE EXCEPTION 'Id is negative'" +
           (code.empty() ? "" : " USING ERRCODE = '" + code + "'") +
           "; END IF; RETURN NEW; END $$; CREATE TRIGGER no BEFORE INSERT ON " + name +
           " FOR EACH ROW EXECUTE FUNCTION no_" + name + "()");
  };
  make_trigger("coded", "TK009");
  make_trigger("plain", "");
  const auto refused = execute("INSERT INTO coded VALUES (-1)");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_EQ(refused.error().reason, "TK009");
  EXPECT_EQ(refused.error().message, "Id is negative");
  EXPECT_FALSE(refused.error().retryable);
  const auto plain = execute("INSERT INTO plain VALUES (-1)");
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().code, Code::kConflict);
  EXPECT_EQ(plain.error().reason, "");
  EXPECT_TRUE(plain.error().message.ends_with(": Id is negative")) << plain.error().message;
}

TEST_P(TransactionTest, TakenKeyHasTheReasonUnique) {
  script(
      "CREATE TABLE t(id BIGINT PRIMARY KEY, name TEXT UNIQUE, n BIGINT CHECK (n > 0),"
      " t BIGINT REFERENCES t(id))");
  ASSERT_TRUE(execute("INSERT INTO t VALUES (1, 'a', 1, NULL)"));
  const std::pair<const char*, const char*> cases[] = {
      {"INSERT INTO t VALUES (1, 'b', 1, NULL)", "unique"},
      {"INSERT INTO t VALUES (2, 'a', 1, NULL)", "unique"},
      {"INSERT INTO t VALUES (2, 'b', 0, NULL)", ""},
      {"INSERT INTO t VALUES (2, 'b', 1, 7)", ""},
  };
  for (const auto& [sql, reason] : cases) {
    const auto refused = execute(sql);
    ASSERT_FALSE(refused) << sql;
    EXPECT_EQ(refused.error().reason, reason) << sql << ": " << refused.error().message;
  }
}

TEST_P(TransactionTest, AttemptThatIsRefusedIsUndoneAlone) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY)");
  const auto done = db().run_transaction([](Transaction& t) -> Result<> {
    (void)TRY(t.execute("INSERT INTO t VALUES (1)"));
    const auto refused = t.attempt([&]() -> Result<int> {
      (void)TRY(t.execute("INSERT INTO t VALUES (2)"));
      return fail(Code::kNotFound, "the body's own error");
    });
    EXPECT_EQ(refused.error().code, Code::kNotFound);
    const auto taken = t.attempt([&] { return t.execute("INSERT INTO t VALUES (4)"); });
    EXPECT_EQ(taken.value(), 1);
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(number("SELECT sum(id) FROM t"), 5);
}

TEST_P(TransactionTest, AttemptWhoseStatementFailedFailsAll) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY)");
  const auto done = db().run_transaction([](Transaction& t) -> Result<> {
    (void)TRY(t.execute("INSERT INTO t VALUES (1)"));
    const auto failed = t.attempt([&] { return t.execute("INSERT INTO t VALUES (1)"); });
    EXPECT_EQ(failed.error().code, Code::kConflict);
    return {};  // as if nothing had happened
  });
  EXPECT_EQ(done.error().code, Code::kConflict);
  EXPECT_EQ(number("SELECT count(*) FROM t"), 0);
}

TEST_P(TransactionTest, ConstraintsAtTheEndStopTheCommit) {
  script(
      "CREATE TABLE p(id BIGINT PRIMARY KEY);"
      "CREATE TABLE c(p BIGINT REFERENCES p(id) DEFERRABLE INITIALLY DEFERRED)");
  EXPECT_EQ(execute("INSERT INTO c VALUES (7)").error().code, Code::kConflict);
  EXPECT_EQ(number("SELECT count(*) FROM c"), 0);
  ASSERT_TRUE(execute("INSERT INTO p VALUES (7)"));
  EXPECT_TRUE(execute("INSERT INTO c VALUES (7)"));
}

TEST_P(TransactionTest, ReaderSeesOneMomentAndDoesNotStopTheWriter) {
  script("CREATE TABLE t(id BIGINT)");
  const auto read = db().run_transaction(
      [&](Transaction& reader) -> Result<> {
        EXPECT_EQ(TRY(reader.value<std::int64_t>("SELECT count(*) FROM t")), 0);
        EXPECT_TRUE(execute("INSERT INTO t VALUES (1)"));  // at once, on another connection
        EXPECT_EQ(TRY(reader.value<std::int64_t>("SELECT count(*) FROM t")), 0);
        return {};
      },
      {.access = Access::kRead});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(number("SELECT count(*) FROM t"), 1);
  const auto written = db().run_transaction(
      [](Transaction& reader) { return reader.execute("INSERT INTO t VALUES (2)"); },
      {.access = Access::kRead, .max_attempts = 1});
  EXPECT_FALSE(written);
}

// Two that read, then write what they read: one of them has to do it again.
TEST_P(TransactionTest, ContendersAllSucceed) {
  options_.pool_timeout_ms = 60'000;
  script("CREATE TABLE t(id BIGINT PRIMARY KEY, n BIGINT); INSERT INTO t VALUES (1, 0), (2, 0)");
  const auto second = open();  // on SQLite as another process: its own writer
  constexpr int kThreads = 6, kEach = 15;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  std::atomic<int> failures{0};
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      Database& database = i % 2 == 0 ? db() : *second;
      const int first = i % 2 + 1;  // in opposite orders, so that they deadlock on PostgreSQL
      for (int n = 0; n < kEach; ++n) {
        const auto done = database.run_transaction(
            [&](Transaction& t) -> Result<> {
              for (const int id : {first, 3 - first}) {
                const auto old = TRY(t.value<std::int64_t>("SELECT n FROM t WHERE id = $1", {id}));
                (void)TRY(t.execute("UPDATE t SET n = $2 WHERE id = $1", {id, *old + 1}));
              }
              return {};
            },
            {.isolation = Isolation::kRepeatableRead,
             .max_attempts = 1'000,
             .give_up_after_ms = 120'000});
        if (!done) ++failures, ADD_FAILURE() << done.error().message;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(number("SELECT n FROM t WHERE id = 1"), kThreads * kEach);
  EXPECT_EQ(number("SELECT n FROM t WHERE id = 2"), kThreads * kEach);
  EXPECT_TRUE(is_sqlite() || db().stats().retries + second->stats().retries > 0);
}

// Each holds what the other wants next.
using ServerTransactionTest = EngineTest;  // SQLite has one writer and no deadlocks
COFFER_ON_EVERY_SERVER(ServerTransactionTest);

TEST_P(ServerTransactionTest, DeadlockIsResolvedByAnotherAttempt) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY, n BIGINT); INSERT INTO t VALUES (1, 0), (2, 0)");
  std::promise<void> has[2];
  std::shared_future<void> other_has[2] = {has[1].get_future().share(),
                                           has[0].get_future().share()};
  std::atomic<int> attempts{0};
  const auto contender = [&](int which) {
    bool told = false;
    return db().run_transaction([&](Transaction& t) -> Result<> {
      ++attempts;
      (void)TRY(t.execute("UPDATE t SET n = n + 1 WHERE id = $1", {which + 1}));
      if (!std::exchange(told, true)) has[which].set_value();
      other_has[which].wait();
      (void)TRY(t.execute("UPDATE t SET n = n + 1 WHERE id = $1", {2 - which}));
      return {};
    });
  };
  auto one = std::async(std::launch::async, contender, 0);
  const auto two = contender(1);
  EXPECT_TRUE(two) << two.error().message;
  EXPECT_TRUE(one.get());
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(number("SELECT sum(n) FROM t"), 4);
}

TEST_P(TransactionTest, LockThatStaysIsUnavailableAfterTheLastAttempt) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY, n BIGINT); INSERT INTO t VALUES (1, 0)");
  options_.lock_timeout_ms = 30;
  std::vector<std::int64_t> pauses;
  options_.pause = [&](std::int64_t ms) { pauses.push_back(ms); };
  const auto impatient = open();
  auto holder = db().acquire(Access::kWrite);
  auto held = holder->begin().value();
  ASSERT_TRUE(held.execute("UPDATE t SET n = 1"));
  const auto update = [](Transaction& t) { return t.execute("UPDATE t SET n = n + 10"); };
  const auto refused = impatient->run_transaction(update, {.max_attempts = 4});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_TRUE(refused.error().retryable);
  EXPECT_NE(refused.error().message.find("(gave up after 4 attempts)"), std::string::npos);
  expect_one_line(refused.error());
  ASSERT_EQ(pauses.size(), 3u);
  for (std::size_t i = 0; i < pauses.size(); ++i) {  // doubling, with jitter
    EXPECT_GE(pauses[i], 4 << i);
    EXPECT_LE(pauses[i], 8 << i);
  }
  ASSERT_TRUE(held.commit());
  EXPECT_TRUE(impatient->run_transaction(update));
  EXPECT_EQ(number("SELECT n FROM t"), 11);
}

TEST_P(TransactionTest, RetryStartsFromNothing) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY)");
  int attempts = 0;
  const auto done = db().run_transaction([&](Transaction& t) -> Result<int> {
    (void)TRY(t.execute("INSERT INTO t VALUES ($1)", {++attempts}));
    return fail(Code::kUnavailable, "not the database's trouble, but retryable");
  });
  EXPECT_FALSE(done);
  EXPECT_EQ(attempts, 1);  // only the database's own word counts
}

TEST_P(TransactionTest, ClockCanBeMoved) {
  ASSERT_TRUE(migrate(db(), {}));
  const std::int64_t real = system_clock().unix_ms();
  EXPECT_NEAR(static_cast<double>(number("SELECT coffer_now()")), static_cast<double>(real),
              60'000);
  // On SQLite the time never goes back below what was written down.
  if (is_sqlite()) script("DELETE FROM coffer_clock");
  ManualClock clock(1'000'000);
  options_.clock = &clock;
  const auto moved = open();
  auto connection = moved->acquire().value();
  EXPECT_EQ(connection.value<std::int64_t>("SELECT coffer_now()").value(), 1'000'000);
  clock.advance_ms(5);
  EXPECT_EQ(connection.value<std::int64_t>("SELECT coffer_now()").value(), 1'000'005);
  const auto inside = moved->run_transaction([&](Transaction& t) -> Result<> {
    clock.advance_ms(5);
    EXPECT_EQ(TRY(t.value<std::int64_t>("SELECT coffer_now()")), 1'000'010);
    clock.advance_ms(5);
    EXPECT_EQ(TRY(t.value<std::int64_t>("SELECT coffer_now()")), 1'000'015);
    return {};
  });
  EXPECT_TRUE(inside);
  EXPECT_EQ(connection.value<std::int64_t>("SELECT coffer_now()").value(), 1'000'015);
  EXPECT_GE(number("SELECT coffer_now()"), real - 60'000);  // the others' clock stays
}

}  // namespace
}  // namespace coffer::sql::test
