// Many rows at once: COPY or a pipeline on PostgreSQL, a loop on SQLite.
#include "base/random.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

class BatchTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped()) return;
    script(
        "CREATE TABLE t(id BIGINT PRIMARY KEY, s TEXT, b BYTEA, f BOOLEAN, CONSTRAINT positive "
        "CHECK "
        "(id >= 0))");
  }
  static constexpr std::string_view kColumns[] = {"id", "s", "b", "f"};
  static constexpr std::string_view kInsert = "INSERT INTO t(id, s, b, f) VALUES ($1, $2, $3, $4)";

  // With either kind of batch.
  Result<std::int64_t> insert(bool plain, const std::function<Result<>(Batch&)>& fill) {
    return db().run_transaction([&](Transaction& t) -> Result<std::int64_t> {
      Batch batch = TRY(plain ? t.insert_into("t", kColumns) : t.batch(kInsert));
      TRY(fill(batch));
      return batch.finish();
    });
  }
};
COFFER_ON_EVERY_ENGINE(BatchTest);

TEST_P(BatchTest, HundredThousandRows) {
  constexpr std::int64_t kRows = 100'000;
  for (const bool plain : {true, false}) {
    const Stopwatch watch;
    const auto added = insert(plain, [&](Batch& batch) -> Result<> {
      std::array<std::uint8_t, 32> bytes{};
      for (std::int64_t i = 0; i < kRows; ++i) {
        store_le(bytes.data(), i);
        TRY(batch.add({i, "a\tb\\c\n", ByteView(bytes), i % 2 == 0}));
      }
      return {};
    });
    ASSERT_TRUE(added) << added.error().message;
    EXPECT_EQ(*added, kRows);
    RecordProperty(plain ? "insert_rows_per_s" : "statement_rows_per_s",
                   std::to_string(static_cast<int>(kRows / watch.seconds())));
    EXPECT_EQ(number("SELECT count(*) FROM t"), kRows);
    EXPECT_EQ(number("SELECT count(*) FROM t WHERE s = $1 AND f = $2", {"a\tb\\c\n", true}),
              kRows / 2);
    std::array<std::uint8_t, 32> last{};
    store_le(last.data(), kRows - 1);
    EXPECT_EQ(number("SELECT id FROM t WHERE b = $1", {ByteView(last)}), kRows - 1);
    ASSERT_EQ(execute("DELETE FROM t"), kRows);
  }
}

TEST_P(BatchTest, EveryKindOfValue) {
  Rng rng(7);
  for (const bool plain : {true, false}) {
    std::vector<std::tuple<std::optional<std::string>, std::optional<Bytes>, std::optional<bool>>>
        rows;
    const auto added = insert(plain, [&](Batch& batch) -> Result<> {
      for (std::int64_t i = 0; i < 3'000; ++i) {
        std::optional<std::string> s;
        std::optional<Bytes> b;
        std::optional<bool> f;
        if (!rng.one_in(4))
          for (s.emplace(); !rng.one_in(8);) *s += static_cast<char>(1 + rng.below(127));
        if (!rng.one_in(4)) b.emplace(rng.below(rng.one_in(50) ? 30'000 : 40)), rng.fill(*b);
        if (!rng.one_in(4)) f = rng.one_in(2);
        TRY(batch.add({i, s, b, f}));
        rows.emplace_back(s, b, f);
      }
      return {};
    });
    ASSERT_TRUE(added) << added.error().message;
    auto connection = db().acquire().value();
    auto read = connection.query("SELECT s, b, f FROM t ORDER BY id").value();
    for (const auto& [s, b, f] : rows) {
      ASSERT_TRUE(read.next().value());
      ASSERT_EQ(read.get<std::optional<std::string>>(0).value(), s);
      ASSERT_EQ(read.get<std::optional<Bytes>>(1).value(), b);
      ASSERT_EQ(read.get<std::optional<bool>>(2).value(), f);
    }
    ASSERT_TRUE(execute("DELETE FROM t"));
  }
}

TEST_P(BatchTest, CountsChangedRows) {
  ASSERT_TRUE(execute("INSERT INTO t(id) VALUES (1), (2), (3)"));
  const auto changed = db().run_transaction([](Transaction& t) -> Result<std::int64_t> {
    Batch batch = TRY(t.batch("UPDATE t SET s = $2 WHERE id >= $1"));
    TRY(batch.add({1, "a"}));
    TRY(batch.add({3, "b"}));
    TRY(batch.add({4, "c"}));
    return batch.finish();
  });
  EXPECT_EQ(changed, 4);
  EXPECT_EQ(number("SELECT count(*) FROM t WHERE s = 'b'"), 1);
}

TEST_P(BatchTest, BadRowFailsTheTransaction) {
  for (const bool plain : {true, false})
    for (const std::int64_t bad : {0, 5, 20'000}) {
      const auto refused = insert(plain, [&](Batch& batch) -> Result<> {
        for (std::int64_t i = 0; i < 30'000; ++i)
          TRY(batch.add({i == bad ? -1 : i, "x", nullptr, nullptr}));
        return {};
      });
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::kInvalidInput) << refused.error().message;
      EXPECT_NE(refused.error().message.find("positive"), std::string::npos);
      EXPECT_EQ(number("SELECT count(*) FROM t"), 0);
    }
  // The connections are as good as before.
  EXPECT_TRUE(execute(kInsert, {1, "x", nullptr, nullptr}));
  EXPECT_EQ(
      insert(true, [](Batch& batch) { return batch.add({1, "y", nullptr, nullptr}); }).error().code,
      Code::kConflict);
}

TEST_P(BatchTest, UnfinishedBatchCannotBeCommitted) {
  for (const bool plain : {true, false}) {
    const auto refused = db().run_transaction([&](Transaction& t) -> Result<> {
      {
        Batch batch = TRY(plain ? t.insert_into("t", kColumns) : t.batch(kInsert));
        TRY(batch.add({1, "x", nullptr, nullptr}));
        EXPECT_EQ(t.execute("DELETE FROM t").error().code, Code::kInternal);  // it is occupied
      }
      return {};
    });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "a batch was not finished");
  }
  EXPECT_EQ(number("SELECT count(*) FROM t"), 0);
}

TEST_P(BatchTest, WrongNumberOfValuesIsABug) {
  for (const bool plain : {true, false}) {
    const auto refused = insert(plain, [](Batch& batch) { return batch.add({1, "x"}); });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInternal) << refused.error().message;
  }
}

// Answers that are larger than any buffer between us and the server.
TEST_P(BatchTest, LargeAnswersDoNotBlock) {
  const auto added = db().run_transaction([](Transaction& t) -> Result<std::int64_t> {
    Batch batch = TRY(t.batch("INSERT INTO t(id, b) VALUES ($1, $2) RETURNING b"));
    const Bytes large(100'000);
    for (std::int64_t i = 0; i < 200; ++i) TRY(batch.add({i, large}));
    return batch.finish();
  });
  EXPECT_EQ(added, 200);
}

}  // namespace
}  // namespace coffer::sql::test
