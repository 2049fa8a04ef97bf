// Several statements in one wait: what they see, what they answer, and how often it was waited.
#include <csignal>
#include <future>
#include <thread>

#include "base/result.h"
#include "sql/postgres_array.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

class PipelineTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped()) return;
    script(
        "CREATE TABLE t(id BIGINT PRIMARY KEY, n BIGINT NOT NULL CHECK (n >= 0));"
        "INSERT INTO t VALUES (1, 10), (2, 20)");
  }
  static constexpr std::string_view kAdd = "UPDATE t SET n = n + $2 WHERE id = $1";
  static constexpr std::string_view kInsert = "INSERT INTO t(id, n) VALUES ($1, $2)";
  static constexpr std::string_view kSum = "SELECT CAST(sum(n) AS BIGINT) FROM t";
  std::int64_t sum() { return number(kSum); }
};
COFFER_ON_EVERY_ENGINE(PipelineTest);

Result<std::int64_t> only_number(Rows& rows) {
  if (!TRY(rows.next())) return fail(Code::kNotFound, "no row");
  return rows.get<std::int64_t>(0);
}

TEST_P(PipelineTest, EachStatementSeesThoseBefore) {
  const auto done = db().run_transaction([](Transaction& t) -> Result<> {
    auto rows = TRY(t.run_all({{kSum},
                               {kAdd, {1, 5}},
                               {kSum},
                               {kInsert, {3, 100}},
                               {"UPDATE t SET n = n + 1 RETURNING id"},
                               {kSum},
                               {"DELETE FROM t WHERE id > $1", {9}}}));
    EXPECT_EQ(rows.size(), 7u);
    EXPECT_EQ(TRY(only_number(rows[0])), 30);
    EXPECT_EQ(TRY(only_number(rows[2])), 35);
    EXPECT_EQ(TRY(only_number(rows[5])), 138);
    const std::int64_t affected[] = {0, 1, 0, 1, 3, 0, 0};
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].affected(), affected[i]) << i;
    std::int64_t ids = 0;
    while (TRY(rows[4].next())) ids += TRY(rows[4].get<std::int64_t>(0));
    EXPECT_EQ(ids, 6);
    EXPECT_FALSE(TRY(rows[1].next()));
    EXPECT_EQ(rows[1].columns(), 0);
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(sum(), 138);
}

TEST_P(PipelineTest, EveryKindOfValueComesBack) {
  const auto done = db().run_transaction([](Transaction& t) -> Result<> {
    const Bytes bytes = {0, 1, 255};
    auto rows = TRY(t.run_all({{"SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT), NULL, ''", {"é", -7}},
                               {"SELECT 1 WHERE 1 = 0"}}));
    EXPECT_TRUE(TRY(rows[0].next()));
    EXPECT_EQ(TRY(rows[0].get<std::string>(0)), "é");
    EXPECT_EQ(TRY(rows[0].get<std::int64_t>(1)), -7);
    EXPECT_TRUE(rows[0].is_null(2));
    EXPECT_EQ(TRY(rows[0].get<std::string_view>(3)), "");
    EXPECT_FALSE(rows[0].get<std::int64_t>(4));
    EXPECT_FALSE(TRY(rows[0].next()));
    EXPECT_FALSE(TRY(rows[1].next()));
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
}

TEST_P(PipelineTest, FailureFailsTheTransaction) {
  const auto refused = db().run_transaction([](Transaction& t) -> Result<> {
    const auto rows = t.run_all({{kAdd, {1, 5}}, {kInsert, {2, 0}}, {kInsert, {4, 0}}});
    EXPECT_FALSE(rows);
    EXPECT_EQ(rows.error().code, Code::kConflict);
    EXPECT_EQ(rows.error().reason, "unique");
    EXPECT_EQ(t.execute(kInsert, {5, 0}).error().code, Code::kConflict);
    return {};
  });
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_EQ(sum(), 30);
  EXPECT_TRUE(execute(kAdd, {1, 1}));  // the connection is as good as before
}

TEST_P(PipelineTest, CommitWithIsDurable) {
  const auto done = db().run_transaction([](Transaction& t) -> Result<std::int64_t> {
    auto read = TRY(t.run_all({{kAdd, {2, 1}}, {"SELECT n FROM t WHERE id = $1", {2}}}));
    const std::int64_t n = TRY(only_number(read[1]));
    auto rows = TRY(t.commit_with({{kInsert, {3, n}}, {kSum}}));
    EXPECT_EQ(rows[0].affected(), 1);
    return only_number(rows[1]);
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(*done, 52);
  EXPECT_EQ(sum(), 52);
  auto connection = db().acquire(Access::kWrite).value();
  auto alone = connection.begin().value();
  ASSERT_TRUE(alone.commit_with({{kAdd, {1, 1}}}));
  auto empty = connection.begin().value();
  ASSERT_TRUE(empty.commit_with(std::vector<Statement>()));
  auto nothing = connection.begin().value();
  ASSERT_TRUE(nothing.commit());
  EXPECT_EQ(sum(), 53);
}

TEST_P(PipelineTest, NothingIsCommittedAfterAFailure) {
  auto connection = db().acquire(Access::kWrite).value();
  {
    auto t = connection.begin().value();
    ASSERT_TRUE(t.execute(kAdd, {1, 1}));
    const auto refused = t.commit_with({{kAdd, {2, 1}}, {kAdd, {1, -1'000}}, {kInsert, {7, 7}}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidInput);
  }
  EXPECT_EQ(sum(), 30);
  {
    auto t = connection.begin().value();
    const std::string not_text("\xff", 1);
    EXPECT_EQ(t.commit_with({{kAdd, {2, 1}}, {"SELECT $1", {not_text}}}).error().code,
              Code::kInvalidInput);
  }
  {
    auto t = connection.begin().value();
    EXPECT_FALSE(t.execute("SELECT nothing FROM nowhere"));
    EXPECT_FALSE(t.commit_with({{kAdd, {2, 1}}}));
  }
  auto t = connection.begin().value();
  ASSERT_TRUE(t.commit_with({{kAdd, {2, 1}}}));
  EXPECT_EQ(sum(), 31);
}

TEST_P(PipelineTest, DeferredConstraintStopsTheCommit) {
  script("CREATE TABLE c(p BIGINT REFERENCES t(id) DEFERRABLE INITIALLY DEFERRED)");
  const auto insert = [this](std::int64_t parent) {
    return db().run_transaction([&](Transaction& t) -> Result<> {
      TRY(t.commit_with({{"INSERT INTO c VALUES ($1)", {parent}}}));
      return {};
    });
  };
  const auto refused = insert(7);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict) << refused.error().message;
  EXPECT_EQ(number("SELECT count(*) FROM c"), 0);
  EXPECT_TRUE(insert(1));
}

TEST_P(PipelineTest, NumberOfStatementsIsBounded) {
  const auto run = [this](std::size_t count) {
    return db().run_transaction([&](Transaction& t) -> Result<std::size_t> {
      const std::vector<Statement> many(count, Statement{kSum});
      return TRY(t.run_all(many)).size();
    });
  };
  EXPECT_EQ(run(kMaxStatements).value(), kMaxStatements);
  EXPECT_EQ(run(kMaxStatements + 1).error().code, Code::kInternal);
}

// More texts than a connection keeps prepared, several at a time.
TEST_P(PipelineTest, ManyDifferentStatements) {
  for (int round = 0; round < 4; ++round) {
    const auto done = db().run_transaction([&](Transaction& t) -> Result<> {
      std::vector<std::string> texts;
      texts.reserve(200);
      for (int i = 0; i < 200; ++i) texts.push_back(fmt::format("SELECT {}", 150 * round + i));
      std::vector<Statement> statements(texts.begin(), texts.end());
      auto rows = TRY(t.run_all(statements));
      for (int i = 0; i < 200; ++i)
        EXPECT_EQ(TRY(only_number(rows[static_cast<std::size_t>(i)])), 150 * round + i);
      return {};
    });
    ASSERT_TRUE(done) << done.error().message;
  }
  if (is_sqlite()) return;
  const std::int64_t prepared = number("SELECT count(*) FROM pg_prepared_statements");
  EXPECT_LE(prepared, GetParam() == Engine::kPgBouncer ? 0 : 256);
}

TEST_P(PipelineTest, ClockMovesBetweenPipelines) {
  ManualClock clock(1'000'000);
  options_.clock = &clock;
  const auto moved = open();
  const char* now =
      is_sqlite() ? "SELECT coffer_now()" : "SELECT current_setting('coffer.now_ms', true)::bigint";
  const auto inside = moved->run_transaction([&](Transaction& t) -> Result<> {
    clock.advance_ms(5);
    auto first = TRY(t.run_all({{kSum}, {now}}));
    EXPECT_EQ(TRY(only_number(first[1])), 1'000'005);
    clock.advance_ms(5);
    auto second = TRY(t.commit_with({{now}}));
    EXPECT_EQ(TRY(only_number(second[0])), 1'000'010);
    return {};
  });
  EXPECT_TRUE(inside) << inside.error().message;
}

using ServerPipelineTest = PipelineTest;
COFFER_ON_EVERY_SERVER(ServerPipelineTest);

TEST_P(ServerPipelineTest, LockReadInsertCommitWaitsTwice) {
  auto connection = db().acquire(Access::kWrite).value();
  const auto transfer = [&](std::int64_t id) -> Result<std::int64_t> {
    const std::int64_t before = connection.server_waits();
    auto t = TRY(connection.begin());
    auto rows =
        TRY(t.run_all({{"SELECT n FROM t WHERE id = $1 FOR UPDATE SKIP LOCKED", {1}}, {kSum}}));
    const std::int64_t n = TRY(only_number(rows[0]));
    TRY(t.commit_with({{kInsert, {id, n}}, {kAdd, {1, -1}}}));
    return t.server_waits() - before;
  };
  EXPECT_EQ(transfer(100).value(), 2);  // statements that are new to the connection
  EXPECT_EQ(transfer(101).value(), 2);
  EXPECT_EQ(number("SELECT n FROM t WHERE id = 101"), 9);
}

TEST_P(ServerPipelineTest, WaitsAreCounted) {
  const auto waits = [this](const std::function<Result<>(Transaction&)>& body) {
    const std::uint64_t before = db().stats().server_waits;
    const auto done = db().run_transaction(body);
    EXPECT_TRUE(done) << done.error().message;
    return db().stats().server_waits - before;
  };
  const auto one = [](Transaction& t) -> Result<> {
    (void)TRY(t.execute(kAdd, {1, 0}));
    return {};
  };
  EXPECT_EQ(waits([](Transaction&) -> Result<> { return {}; }), 0u);
  EXPECT_EQ(waits(one), 2u);  // the commit is the other
  EXPECT_EQ(waits([&](Transaction& t) -> Result<> {
              TRY(one(t));
              return one(t);
            }),
            3u);
  EXPECT_EQ(waits([](Transaction& t) { return t.script("SELECT 1; SELECT 2"); }), 2u);
  EXPECT_EQ(waits([](Transaction& t) -> Result<> {
              TRY(t.commit_with({{kAdd, {1, 0}}, {kAdd, {2, 0}}}));
              return {};
            }),
            1u);
}

// READ COMMITTED: what another commits between two statements is seen by the second.
TEST_P(ServerPipelineTest, EachStatementHasASnapshotOfItsOwn) {
  auto connection = db().acquire(Access::kWrite).value();
  auto holder = connection.begin().value();
  ASSERT_TRUE(holder.execute(kAdd, {1, 100}));
  auto waiting = std::async(std::launch::async, [&] {
    return db().run_transaction(
        [](Transaction& t) -> Result<std::pair<std::int64_t, std::int64_t>> {
          auto rows = TRY(t.run_all({{kSum}, {"SELECT n FROM t WHERE id = 1 FOR UPDATE"}, {kSum}}));
          return std::pair{TRY(only_number(rows[0])), TRY(only_number(rows[2]))};
        });
  });
  const auto is_waiting = [&] {
    return number(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
               "wait_event_type = 'Lock'") > 0;
  };
  for (int i = 0; i < 10'000 && !is_waiting(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(holder.commit());
  const auto sums = waiting.get();
  ASSERT_TRUE(sums) << sums.error().message;
  EXPECT_EQ(*sums, std::pair(std::int64_t{30}, std::int64_t{130}));
}

// Questions and answers that are larger than any buffer between us and the server.
TEST_P(ServerPipelineTest, LargeStatementsAndAnswersDoNotBlock) {
  const auto done = db().run_transaction([](Transaction& t) -> Result<> {
    const std::string large(4u << 20, 'x');
    const std::vector<Param> params = {large};
    const std::vector<Statement> statements(8, Statement{"SELECT $1::text", params});
    auto rows = TRY(t.run_all(statements));
    for (Rows& each : rows) {
      EXPECT_TRUE(TRY(each.next()));
      EXPECT_EQ(TRY(each.get<std::string_view>(0)).size(), large.size());
    }
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
}

// One killed between two statements, one within the pipeline that commits.
TEST_P(ServerPipelineTest, LostConnection) {
  if (GetParam() == Engine::kPgBouncer) GTEST_SKIP() << "its process ids are made up";
  const auto pid = [](Transaction& t) {
    return t.value<std::int64_t>("SELECT pg_backend_pid()::bigint");
  };
  int attempts = 0;
  const auto again = db().run_transaction([&](Transaction& t) -> Result<> {
    const std::int64_t mine = **pid(t);
    if (++attempts == 1) {
      EXPECT_EQ(number("SELECT count(pg_terminate_backend($1::int))", {mine}), 1);
    }
    TRY(t.run_all({{kAdd, {1, 1}}, {kSum}}));
    return {};
  });
  EXPECT_TRUE(again) << again.error().message;  // certain not to be committed
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(sum(), 31);

  attempts = 0;
  const auto unknown = db().run_transaction([&](Transaction& t) -> Result<> {
    ++attempts;
    TRY(t.commit_with({{kAdd, {1, 1}}, {"SELECT pg_terminate_backend(pg_backend_pid())"}}));
    return {};
  });
  ASSERT_FALSE(unknown);
  EXPECT_EQ(attempts, 1);
  EXPECT_EQ(unknown.error().code, Code::kUnavailable);
  EXPECT_FALSE(unknown.error().retryable);
  EXPECT_NE(unknown.error().message.find("not known"), std::string::npos)
      << unknown.error().message;
  EXPECT_EQ(sum(), 31);
}

using Uuid = FixedBytes<16, struct TestUuidTag>;

TEST_P(ServerPipelineTest, UuidsAreSixteenBytes) {
  script("CREATE TABLE u(id uuid PRIMARY KEY, n bigint)");
  Uuid first{}, second{};
  first[0] = 0xab, first[15] = 1, second[15] = 2;
  const auto done = db().run_transaction([&](Transaction& t) -> Result<> {
    PostgresArray ids(PostgresArray::Element::kUuid), numbers(PostgresArray::Element::kInt8);
    for (const Uuid& id : {first, second}) ids.add(id), numbers.add(ids.size());
    auto rows = TRY(
        t.run_all({{"INSERT INTO u SELECT * FROM unnest($1::uuid[], $2::bigint[])",
                    {ids.view(), numbers.view()}},
                   {"SELECT id, id::text FROM u WHERE id = $1", {first}},
                   {"SELECT id FROM u WHERE id = ANY($1::uuid[]) ORDER BY n DESC", {ids.view()}}}));
    EXPECT_EQ(rows[0].affected(), 2);
    EXPECT_TRUE(TRY(rows[1].next()));
    EXPECT_EQ(TRY(rows[1].get<Uuid>(0)), first);
    EXPECT_EQ(TRY(rows[1].get<ByteView>(0)).size(), 16u);
    EXPECT_EQ(TRY(rows[1].get<std::string>(1)), "ab000000-0000-0000-0000-000000000001");
    EXPECT_TRUE(TRY(rows[2].next()));
    EXPECT_EQ(TRY(rows[2].get<Uuid>(0)), second);
    return {};
  });
  ASSERT_TRUE(done) << done.error().message;
}

}  // namespace
}  // namespace coffer::sql::test
