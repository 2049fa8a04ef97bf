// Values, rows and errors, the same on every engine.
#include "sql/connection.h"

#include <limits>

#include "base/random.h"
#include "base/result.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

using ConnectionTest = EngineTest;
COFFER_ON_EVERY_ENGINE(ConnectionTest);

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST_P(ConnectionTest, ValuesRoundTrip) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY, i BIGINT, s TEXT, b BYTEA, f BOOLEAN)");
  struct Row {
    std::optional<std::int64_t> i;
    std::optional<std::string> s;
    std::optional<Bytes> b;
    std::optional<bool> f;
  };
  Bytes all_bytes(256);
  for (std::size_t i = 0; i < all_bytes.size(); ++i) all_bytes[i] = static_cast<std::uint8_t>(i);
  const std::vector<Row> rows = {
      {0, "", Bytes{}, false},
      {kMin, "naïve ☃ 💰 \t\n\\N \\x00 '\"", all_bytes, true},
      {kMax, std::string(100'000, 'x'), Bytes(1'000'000, 0), true},
      {std::nullopt, std::nullopt, std::nullopt, std::nullopt},
      {-1, "\\", Bytes{0}, false},
  };
  for (std::size_t id = 0; id < rows.size(); ++id) {
    const auto& row = rows[id];
    const auto changed = execute("INSERT INTO t VALUES ($1, $2, $3, $4, $5)",
                                 {Ordinal(id), row.i, row.s, row.b, row.f});
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_EQ(*changed, 1);
  }
  auto connection = db().acquire();
  ASSERT_TRUE(connection);
  auto read = connection->query("SELECT i, s, b, f FROM t ORDER BY id");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->columns(), 4);
  for (const auto& row : rows) {
    ASSERT_TRUE(read->next().value());
    EXPECT_EQ(read->get<std::optional<std::int64_t>>(0).value(), row.i);
    EXPECT_EQ(read->get<std::optional<std::string>>(1).value(), row.s);
    EXPECT_EQ(read->get<std::optional<Bytes>>(2).value(), row.b);
    EXPECT_EQ(read->get<std::optional<bool>>(3).value(), row.f);
    EXPECT_EQ(read->is_null(1), !row.s.has_value());
    EXPECT_EQ(read->is_null(2), !row.b.has_value());
    if (!row.b) continue;
    EXPECT_TRUE(equal(read->get<ByteView>(2).value(), *row.b));
    EXPECT_EQ(read->get<std::string_view>(1).value(), *row.s);
  }
  EXPECT_FALSE(read->next().value());
  EXPECT_FALSE(read->next().value());
}

TEST_P(ConnectionTest, GettersCheckTypeNullRangeAndColumn) {
  script("CREATE TABLE t(i BIGINT, s TEXT, b BYTEA, n TEXT)");
  ASSERT_TRUE(execute("INSERT INTO t VALUES (300, 'x', $1, NULL)", {Bytes(31)}));
  auto connection = db().acquire();
  auto rows = connection->query("SELECT i, s, b, n FROM t").value();
  ASSERT_TRUE(rows.next().value());
  EXPECT_EQ(rows.get<std::uint16_t>(0).value(), 300);
  EXPECT_EQ(rows.get<Amount>(0).value(), Amount(300));
  EXPECT_EQ(rows.get<std::uint8_t>(0).error().code, Code::kInvalidInput);
  EXPECT_EQ(rows.get<bool>(0).error().code, Code::kInternal);
  EXPECT_EQ(rows.get<std::string>(0).error().code, Code::kInternal);
  EXPECT_EQ(rows.get<Bytes>(1).error().code, Code::kInternal);
  EXPECT_EQ(rows.get<Hash256>(2).error().code, Code::kInvalidInput);
  EXPECT_EQ(rows.get<std::string>(3).error().message, "column 3 (n) is NULL where text is needed");
  EXPECT_EQ(rows.get<std::int64_t>(4).error().code, Code::kInternal);
  EXPECT_EQ(rows.get<std::int64_t>(-1).error().code, Code::kInternal);
}

TEST_P(ConnectionTest, SumsOfIntegersAreIntegers) {
  script("CREATE TABLE t(i BIGINT)");
  for (const std::int64_t i : {kMax - 10'000, std::int64_t{10'000}, std::int64_t{0}})
    ASSERT_TRUE(execute("INSERT INTO t VALUES ($1)", {i}));
  EXPECT_EQ(number("SELECT sum(i) FROM t"), kMax);
  EXPECT_EQ(number("SELECT -1 - sum(i) FROM t"), kMin);
  EXPECT_EQ(number("SELECT sum(i) - sum(i) FROM t"), 0);
  EXPECT_EQ(number("SELECT sum(i) FROM t WHERE i <= 10000"), 10'000);
  ASSERT_TRUE(execute("INSERT INTO t VALUES (1)"));
  auto connection = db().acquire();
  EXPECT_FALSE(connection->value<std::int64_t>("SELECT sum(i) FROM t"));  // never wraps
}

TEST_P(ConnectionTest, NumberedParameters) {
  script("CREATE TABLE t(a BIGINT, b BIGINT)");
  ASSERT_TRUE(execute("INSERT INTO t(b, a) VALUES ($2, $1)", {1, 2}));
  EXPECT_EQ(number("SELECT a FROM t WHERE b = $2 AND a = $1 AND b > $1", {1, 2}), 1);
  auto connection = db().acquire();
  for (const auto& wrong : {std::vector<Param>{1}, std::vector<Param>{1, 2, 3}}) {
    const auto refused = connection->query("SELECT a FROM t WHERE b = $2 AND a = $1", wrong);
    EXPECT_EQ(refused.error().code, Code::kInternal) << refused.error().message;
  }
}

TEST_P(ConnectionTest, BadValuesAreRefusedBeforeTheyAreSent) {
  script("CREATE TABLE t(s TEXT)");
  using namespace std::string_view_literals;
  for (const auto bad : {"a\0b"sv, "\xff"sv, "\xc0\x80"sv, "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv,
                         "\xe2\x98"sv, "\x80"sv}) {
    const auto refused = execute("INSERT INTO t VALUES ($1)", {bad});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidInput);
  }
  const Bytes huge(kMaxValueBytes + 1);
  EXPECT_EQ(execute("INSERT INTO t VALUES ($1)", {huge}).error().code, Code::kTooLarge);
  const std::uint64_t large = 1ull << 63;
  EXPECT_EQ(execute("INSERT INTO t VALUES ($1)", {large}).error().code, Code::kInvalidInput);
  EXPECT_EQ(number("SELECT count(*) FROM t"), 0);
}

TEST_P(ConnectionTest, ConstraintsHaveCodes) {
  script(
      "CREATE TABLE p(id BIGINT PRIMARY KEY);"
      "CREATE TABLE t(id BIGINT PRIMARY KEY, u BIGINT, p BIGINT REFERENCES p(id), n BIGINT NOT "
      "NULL,"
      " c BIGINT, CONSTRAINT small_c CHECK (c < 10), CONSTRAINT one_u UNIQUE (u));"
      "INSERT INTO p VALUES (1); INSERT INTO t VALUES (1, 1, 1, 1, 1)");
  struct Case {
    std::string_view sql;
    Code code;
    std::string_view says;
  };
  const Case cases[] = {
      {"INSERT INTO t VALUES (1, 2, 1, 1, 1)", Code::kConflict, is_sqlite() ? "t.id" : "t_pkey"},
      {"INSERT INTO t VALUES (2, 1, 1, 1, 1)", Code::kConflict, is_sqlite() ? "t.u" : "one_u"},
      {"INSERT INTO t VALUES (2, 2, 9, 1, 1)", Code::kConflict,
       is_sqlite() ? "FOREIGN KEY" : "t_p_fkey"},
      {"DELETE FROM p", Code::kConflict, is_sqlite() ? "FOREIGN KEY" : "t_p_fkey"},
      {"INSERT INTO t VALUES (2, 2, 1, NULL, 1)", Code::kInvalidInput, "n"},
      {"INSERT INTO t VALUES (2, 2, 1, 1, 10)", Code::kInvalidInput, "small_c"},
      {"INSERT INTO nowhere VALUES (1)", Code::kInternal, "nowhere"},
      {"INSERT INTO", Code::kInternal, "INSERT INTO"},
  };
  for (const Case& c : cases) {
    const auto refused = execute(c.sql);
    ASSERT_FALSE(refused) << c.sql;
    EXPECT_EQ(refused.error().code, c.code) << refused.error().message;
    EXPECT_FALSE(refused.error().retryable);
    EXPECT_NE(refused.error().message.find(c.says), std::string::npos) << refused.error().message;
    expect_one_line(refused.error());
  }
  EXPECT_EQ(number("SELECT count(*) FROM t"), 1);
  EXPECT_EQ(db().stats().retries, 0u);
}

TEST_P(ConnectionTest, QueryMayWriteAndReturn) {
  script("CREATE TABLE t(id BIGINT PRIMARY KEY, v BIGINT)");
  const auto written = db().run_transaction([](Transaction& t) -> Result<std::int64_t> {
    (void)TRY(
        t.query("INSERT INTO t VALUES (1, 10), (2, 20) RETURNING id"));  // nobody reads the rows
    return TRY(t.value<std::int64_t>("UPDATE t SET v = v + 1 WHERE id = $1 RETURNING v", {2}))
        .value();
  });
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*written, 21);
  EXPECT_EQ(number("SELECT count(*) FROM t"), 2);
}

TEST_P(ConnectionTest, OneRefusesSeveralRows) {
  script("CREATE TABLE t(id BIGINT, s TEXT)");
  auto connection = db().acquire();
  EXPECT_EQ((connection->one<std::int64_t, std::string>("SELECT id, s FROM t").value()),
            std::nullopt);
  ASSERT_TRUE(execute("INSERT INTO t VALUES (1, 'a')"));
  const auto row = connection->one<std::int64_t, std::string>("SELECT id, s FROM t").value();
  EXPECT_EQ(row, std::tuple(1, "a"));
  ASSERT_TRUE(execute("INSERT INTO t VALUES (2, 'b')"));
  EXPECT_EQ(connection->value<std::int64_t>("SELECT id FROM t").error().code, Code::kInternal);
}

TEST_P(ConnectionTest, NestedStatements) {
  script("CREATE TABLE t(id BIGINT)");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(execute("INSERT INTO t VALUES ($1)", {i}));
  auto connection = db().acquire();
  // The same text inside of itself: each has its own place.
  std::int64_t pairs = 0;
  auto outer = connection->query("SELECT id FROM t ORDER BY id").value();
  while (outer.next().value()) {
    auto inner = connection->query("SELECT id FROM t ORDER BY id").value();
    while (inner.next().value()) ++pairs;
  }
  EXPECT_EQ(pairs, 25);
}

TEST_P(ConnectionTest, StatementCacheIsBounded) {
  script("CREATE TABLE t(id BIGINT); INSERT INTO t VALUES (1)");
  auto connection = db().acquire();
  for (int i = 0; i < 600; ++i) {
    const std::string sql = fmt::format("SELECT id + {} FROM t", i % 300);
    const auto value = connection->value<std::int64_t>(sql);
    ASSERT_TRUE(value) << value.error().message;
    ASSERT_EQ(**value, 1 + i % 300);
  }
}

TEST_P(ConnectionTest, StreamsAnyNumberOfRows) {
  script("CREATE TABLE t(id BIGINT)");
  constexpr std::int64_t kRows = 3'000;
  const auto counted = db().run_transaction([&](Transaction& t) -> Result<std::int64_t> {
    constexpr std::string_view kColumns[] = {"id"};
    Batch batch = TRY(t.insert_into("t", kColumns));
    for (std::int64_t i = 0; i < kRows; ++i) TRY(batch.add({i}));
    (void)TRY(batch.finish());
    {
      Rows left = TRY(t.stream("SELECT id FROM t ORDER BY id"));  // given up after the first
      (void)TRY(left.next());
    }
    Rows rows = TRY(t.stream("SELECT id FROM t WHERE id >= $1 ORDER BY id", {1}));
    std::int64_t next = 1;
    while (TRY(rows.next())) {
      EXPECT_EQ(TRY(rows.get<std::int64_t>(0)), next);
      if (next++ == 1'500) (void)TRY(t.value<std::int64_t>("SELECT count(*) FROM t"));
    }
    return next;
  });
  ASSERT_TRUE(counted) << counted.error().message;
  EXPECT_EQ(*counted, kRows);
}

TEST_P(ConnectionTest, SlowStatementTimesOut) {
  options_.statement_timeout_ms = 100;
  const auto slow = db().run_transaction([&](Transaction& t) -> Result<> {
    (void)TRY(t.query(is_sqlite()
                          ? "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                            "SELECT count(*) FROM n"
                          : "SELECT pg_sleep(60)"));
    return {};
  });
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().code, Code::kTimeout) << slow.error().message;
  EXPECT_EQ(number("SELECT 1"), 1);
}

}  // namespace
}  // namespace coffer::sql::test
