// Connections: how many there are, waiting for one, losing them.
#include "sql/pool_impl.h"

#include <future>
#include <set>
#include <thread>

#include "base/result.h"
#include "sql/impl.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

using PoolTest = EngineTest;
COFFER_ON_EVERY_ENGINE(PoolTest);

TEST_P(PoolTest, EmptyPoolTimesOutAndRecovers) {
  options_.max_connections = 2;
  options_.pool_timeout_ms = 50;
  {
    auto one = db().acquire().value();
    auto two = db().acquire().value();
    const auto none = db().acquire();
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::kUnavailable);
    EXPECT_NE(none.error().message.find("all 2 connections"), std::string::npos);
    expect_one_line(none.error());
  }
  EXPECT_EQ(number("SELECT 1"), 1);
  EXPECT_EQ(db().stats().open, is_sqlite() ? 3u : 2u);  // SQLite: and the writer
  EXPECT_EQ(db().stats().idle, db().stats().open);
}

TEST_P(PoolTest, WaitingCallersAreServedInOrder) {
  options_.max_connections = 1;
  options_.pool_timeout_ms = 60'000;
  auto held = std::make_unique<Connection>(db().acquire().value());
  auto waiting = std::async(std::launch::async, [&] {
    auto connection = db().acquire().value();
    return connection.value<std::int64_t>("SELECT 7").value();
  });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  held.reset();
  EXPECT_EQ(waiting.get(), 7);
}

TEST_P(PoolTest, ManyThreadsShareFewConnections) {
  options_.max_connections = 3;
  options_.pool_timeout_ms = 60'000;
  script("CREATE TABLE t(id BIGINT PRIMARY KEY)");
  std::vector<std::thread> threads;
  threads.reserve(16);
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 10; ++n) {
        EXPECT_TRUE(execute("INSERT INTO t VALUES ($1)", {i * 10 + n}));
        EXPECT_GT(number("SELECT count(*) FROM t"), 0);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(number("SELECT count(*) FROM t"), 160);
  EXPECT_LE(db().stats().open, 4u);
}

// Another thread's transaction is waited for as long as another process's would be.
TEST_P(PoolTest, WriterWaitsForItsTurnLongerThanForAConnection) {
  options_.pool_timeout_ms = 10;
  script("CREATE TABLE t(id BIGINT PRIMARY KEY)");
  std::promise<void> begun, end;
  auto slow = std::async(std::launch::async, [&] {
    return db().run_transaction([&](Transaction& t) -> Result<> {
      (void)TRY(t.execute("INSERT INTO t VALUES (1)"));
      begun.set_value();
      end.get_future().wait();
      return {};
    });
  });
  begun.get_future().wait();
  const auto insert = [](Transaction& t) { return t.execute("INSERT INTO t VALUES (2)"); };
  auto waiting = std::async(std::launch::async, [&] { return db().run_transaction(insert); });
  if (is_sqlite()) {
    EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
    const auto none = db().run_transaction(insert, {.give_up_after_ms = 20});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::kUnavailable) << none.error().message;
  }
  end.set_value();
  EXPECT_TRUE(slow.get());
  const auto done = waiting.get();
  EXPECT_TRUE(done) << done.error().message;
}

using LostConnectionTest = EngineTest;
COFFER_ON_EVERY_SERVER(LostConnectionTest);

// What an operator does, from a connection of its own.
void terminate(std::int64_t pid) {
  DatabaseOptions options;
  options.location = PostgresServer::shared()->location("postgres");
  const auto admin = Database::open(options).value();
  auto connection = admin->acquire().value();
  EXPECT_TRUE(connection.query("SELECT pg_terminate_backend($1, 10000)", {pid}));
}

TEST_P(LostConnectionTest, BeforeTheCommitTheTransactionIsDoneAgain) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY)");
  int attempts = 0;
  const auto done = db().run_transaction([&](Transaction& t) -> Result<> {
    (void)TRY(t.execute("INSERT INTO t VALUES (1)"));
    if (++attempts == 1) terminate(TRY(t.value<std::int64_t>("SELECT pg_backend_pid()")).value());
    (void)TRY(t.execute("INSERT INTO t VALUES (2)"));
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(number("SELECT count(*) FROM t"), 2);
}

TEST_P(LostConnectionTest, TransactionThatWasIdleForTooLongIsDoneAgain) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY)");
  int attempts = 0;
  const auto done = db().run_transaction([&](Transaction& t) -> Result<> {
    if (++attempts == 1) {
      const auto pid = TRY(t.value<std::int64_t>("SELECT pg_backend_pid()")).value();
      TRY(t.script("SET LOCAL idle_in_transaction_session_timeout = 1"));
      while (number("SELECT count(*) FROM pg_stat_activity WHERE pid = $1", {pid}) > 0)
        std::this_thread::yield();
    }
    (void)TRY(t.execute("INSERT INTO t VALUES (1)"));
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(attempts, 2);
}

TEST_P(LostConnectionTest, InABatchTheTransactionIsDoneAgain) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY)");
  for (const bool plain : {true, false}) {
    int attempts = 0;
    const auto done = db().run_transaction([&](Transaction& t) -> Result<std::int64_t> {
      constexpr std::string_view kColumns[] = {"id"};
      const auto pid = TRY(t.value<std::int64_t>("SELECT pg_backend_pid()")).value();
      Batch batch =
          TRY(plain ? t.insert_into("t", kColumns) : t.batch("INSERT INTO t VALUES ($1)"));
      const bool first = ++attempts == 1;
      for (int i = 0; i < 20'000; ++i) {
        if (first && i == 5'000) terminate(pid);
        TRY(batch.add({i}));
      }
      return batch.finish();
    });
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(*done, 20'000);
    EXPECT_EQ(attempts, 2);
    ASSERT_TRUE(execute("DELETE FROM t"));
  }
}

// A trigger that runs while the commit does ends the connection: whoever waits for the answer
// cannot know what became of it.
TEST_P(LostConnectionTest, DuringTheCommitNothingIsRepeatedUnlessItMayBe) {
  script(
      "CREATE TABLE t(id BIGINT); CREATE SEQUENCE commits;"
      "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " IF nextval('commits') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;"
      " RETURN NULL; END $$;"
      "CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED"
      " FOR EACH ROW EXECUTE FUNCTION cut()");
  int attempts = 0;
  const auto insert = [&](Transaction& t) {
    ++attempts;
    return t.execute("INSERT INTO t VALUES (1)");
  };
  const auto unknown = db().run_transaction(insert);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(attempts, 1);
  EXPECT_EQ(unknown.error().code, Code::kUnavailable) << unknown.error().message;
  EXPECT_FALSE(unknown.error().retryable);
  EXPECT_NE(unknown.error().message.find("not known whether"), std::string::npos);
  expect_one_line(unknown.error());

  script("SELECT setval('commits', 1, false)");
  attempts = 0;
  EXPECT_TRUE(db().run_transaction(insert, {.idempotent = true}));
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(number("SELECT count(*) FROM t"), 1);
}

TEST(PostgresServerTest, AcknowledgedCommitsSurviveServerCrash) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  PostgresServer server(/*durable=*/true);
  DatabaseOptions options;
  options.location = server.location("postgres");
  const auto database = Database::open(options).value();
  const auto created = database->run_transaction(
      [](Transaction& t) { return t.script("CREATE TABLE t(id BIGINT PRIMARY KEY)"); });
  ASSERT_TRUE(created);
  std::atomic<int> acknowledged{0};
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop) {
      const auto done = database->run_transaction(
          [&](Transaction& t) {
            return t.execute("INSERT INTO t VALUES ($1) ON CONFLICT DO NOTHING",
                             {acknowledged.load()});
          },
          {.max_attempts = 1'000, .give_up_after_ms = 60'000, .idempotent = true});
      ASSERT_TRUE(done) << done.error().message;
      ++acknowledged;
      acknowledged.notify_all();
    }
  });
  for (int crash = 1; crash <= 2; ++crash) {
    for (int seen = acknowledged; seen < 20 * crash; seen = acknowledged) acknowledged.wait(seen);
    server.crash();
    server.start();
  }
  stop = true;
  writer.join();
  auto connection = database->acquire().value();
  EXPECT_EQ(connection.value<std::int64_t>("SELECT count(*) FROM t").value(), acknowledged.load());
  EXPECT_GT(database->stats().retries, 0u);
}

TEST(PostgresServerTest, IdleConnectionThatIsGoneIsReplacedUnnoticed) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  DatabaseOptions options;
  options.location = PostgresServer::shared()->location("postgres");
  const auto database = Database::open(options).value();
  const auto pid = [&] {
    auto connection = database->acquire().value();
    return connection.value<std::int64_t>("SELECT pg_backend_pid()").value().value();
  };
  for (int i = 0; i < 3; ++i) {
    const std::int64_t old = pid();
    EXPECT_EQ(pid(), old);
    terminate(old);
    EXPECT_NE(pid(), old);
  }
}

TEST(PostgresServerTest, SettingsHoldDirectlyAndBehindAPooler) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  PostgresServer& server = *PostgresServer::shared();
  const std::string name = server.fresh_database();
  server.run_psql("ALTER DATABASE " + name + " SET synchronous_commit = off");
  std::vector<std::pair<std::string, bool>> ways = {{server.location(name), false},
                                                    {server.location(name) + " pooled=true", true}};
  if (PgBouncer::installed()) ways.emplace_back(PgBouncer::shared()->location(name), true);
  for (const auto& [location, pooled] : ways) {
    DatabaseOptions options;
    options.location = location;
    options.lock_timeout_ms = 1'234;
    const auto database = Database::open(options).value();
    const auto settings = database->run_transaction([](Transaction& t) -> Result<std::string> {
      return TRY(t.value<std::string>("SELECT current_setting('synchronous_commit') || ' ' || "
                                      "current_setting('lock_timeout')"))
          .value();
    });
    EXPECT_EQ(settings, "on 1234ms");
    // Named statements only without a pooler.
    const auto named = database->run_transaction([](Transaction& t) -> Result<std::int64_t> {
      return TRY(t.value<std::int64_t>("SELECT count(*) FROM pg_prepared_statements")).value();
    });
    EXPECT_EQ(named.value() > 0, !pooled) << location;
  }
}

TEST(PostgresServerTest, RefusalsAreClear) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  DatabaseOptions options;
  const auto code_of = [&](const std::string& location) {
    options.location = location;
    const auto refused = Database::open(options);
    if (refused) return Code::kInternal;
    expect_one_line(refused.error());
    EXPECT_EQ(refused.error().message.find("s3cret"), std::string::npos) << refused.error().message;
    return refused.error().code;
  };
  const PostgresServer& server = *PostgresServer::shared();
  EXPECT_EQ(code_of(server.location("nowhere")), Code::kNotFound);
  EXPECT_EQ(code_of(server.location("postgres") + " user=nobody password=s3cret"),
            Code::kUnauthorized);
  EXPECT_EQ(code_of("host=/nonexistent dbname=x password=s3cret"), Code::kUnavailable);
}

// The plan of a prepared statement does not outlive a change of its table.
TEST(PostgresServerTest, ChangedTableIsPreparedAgain) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  DatabaseOptions options;
  options.location = PostgresServer::shared()->location(PostgresServer::shared()->fresh_database());
  const auto database = Database::open(options).value();
  const auto run = [&](std::string_view sql) {
    return database->run_transaction([&](Transaction& t) { return t.script(sql); });
  };
  ASSERT_TRUE(run("CREATE TABLE t(id BIGINT); INSERT INTO t VALUES (1)"));
  const auto columns = [&] {
    return database->run_transaction(
        [](Transaction& t) -> Result<int> { return TRY(t.query("SELECT * FROM t")).columns(); });
  };
  EXPECT_EQ(columns(), 1);
  ASSERT_TRUE(run("ALTER TABLE t ADD COLUMN more BIGINT"));
  EXPECT_EQ(columns(), 2);
}

}  // namespace
}  // namespace coffer::sql::test
