// What reads touch does not grow with the history: steps of SQLite's machine, pages of PostgreSQL's
// tables and indexes, counted at one size and at ten times as much; in the long run at 10,000 and
// at 10 million transactions.
#include <cstdlib>
#include <map>
#include <regex>

#include "token/account/test_village.h"

namespace coffer::token {
namespace {

using village::kNow;

class TokenGrowth : public village::VillageTest {
 protected:
  const bool is_long_ = std::getenv("COFFER_LONG") != nullptr;
  const std::int64_t small_ = is_long_ ? 10'000 : 2'000, factor_ = is_long_ ? 1'000 : 10;

  void SetUp() override {
    options_.max_connections = 1;  // so that the work of all calls is counted in one place
    VillageTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    alice_ = make_user("alice");
    quiet_ = make_user("quiet");
    move(pool_, quiet_.wallet, 1);
    move(pool_, pool_, small_ * factor_);
  }

  // As the clock goes on. Statistics of the tables are young, as autovacuum sees to.
  void grow(std::int64_t many) {
    while (many > 0) {
      const std::int64_t some = std::min<std::int64_t>(many, small_ / 4);
      move_many(pool_, alice_.wallet, some, now());
      advance(1'000);
      many -= some;
    }
    script("ANALYZE");
    if (is_sqlite()) return;
    // What is read for the first time also sets hint bits.
    auto connection = db().acquire();
    ASSERT_TRUE(connection);
    ASSERT_TRUE(connection->query(raw("SELECT count(*) FROM @transactions")));
  }

  std::int64_t work_so_far() {
    auto connection = db().acquire();
    EXPECT_TRUE(connection);
    if (is_sqlite()) return connection->vm_steps();
    EXPECT_TRUE(connection->query("SELECT pg_stat_force_next_flush()"));
    return connection
        ->value<std::int64_t>(
            "SELECT CAST(sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit, 0)"
            " + coalesce(idx_blks_read, 0)) AS BIGINT) FROM pg_statio_all_tables"
            " WHERE schemaname = 'village'")
        .value_or(-1)
        .value_or(-1);
  }
  template <typename Call>
  std::int64_t work_of(Call call) {
    for (int i = 0; i < 7; ++i) (void)call();  // PostgreSQL keeps one plan after five
    const std::int64_t before = work_so_far();
    const auto answer = call();
    EXPECT_TRUE(answer) << answer.error().message;
    return work_so_far() - before;
  }

  std::map<std::string, std::int64_t> measure() {
    const std::int64_t last = now(), middle = (kNow + last) / 2;
    std::map<std::string, std::int64_t> work;
    work["wallet"] = work_of([&] { return store().find_wallet(alice_.wallet); });
    for (const std::int64_t at : {kNow + 1, middle, last})
      work[fmt::format("balance at {}", at == middle ? "the middle"
                                        : at == last ? "the end"
                                                     : "the start")] =
          work_of([&] { return store().balance_at(alice_.wallet, at); });
    const auto history = [&](HistoryQuery query) {
      query.page.count = 50;
      return work_of([&] { return store().history(query); });
    };
    work["history"] = history({.wallet = alice_.wallet});
    work["history of a quiet wallet"] = history({.wallet = quiet_.wallet});
    work["history of a quiet wallet, oldest first"] =
        history({.wallet = quiet_.wallet, .newest_first = false});
    work["history of the pool"] = history({.wallet = pool_});
    work["history from the middle"] = history({.wallet = alice_.wallet, .to_ms = middle});
    work["history, oldest first"] = history({.wallet = alice_.wallet, .newest_first = false});
    work["history of all"] = history({});
    work["history of all from the middle"] = history({.to_ms = middle});
    work["history of a type"] = history({.type = 1});
    work["statement"] = work_of([&] {
      return store().statement(
          {.wallet = alice_.wallet, .from_ms = 0, .to_ms = last, .page = {.count = 50}});
    });
    work["statement from the middle"] = work_of([&] {
      return store().statement(
          {.wallet = alice_.wallet, .from_ms = middle, .to_ms = last, .page = {.count = 50}});
    });
    return work;
  }

  User alice_, quiet_;  // who moves all the time, and who hardly ever does
};
INSTANTIATE_TEST_SUITE_P(Direct, TokenGrowth,
                         testing::Values(sql::test::Engine::kSqlite, sql::test::Engine::kPostgres),
                         sql::test::engine_name);

TEST_P(TokenGrowth, ReadsCostTheSameAtTenTimesTheHistory) {
  grow(small_);
  const auto small = measure();
  const std::int64_t check = work_of([&] { return store().check(); });
  grow((factor_ - 1) * small_);
  const auto large = measure();
  for (const auto& [what, work] : small) {
    EXPECT_GT(work, 0) << what;
    // A level more of an index is a page or some steps for each look-up.
    EXPECT_LE(large.at(what), work + work / 2 + 4) << what << " was " << work;
    RecordProperty(std::regex_replace(what, std::regex("[ ,]+"), "_"),
                   fmt::format("{} {}", work, large.at(what)));
  }
  // The measure sees what grows: adding everything up.
  EXPECT_GT(work_of([&] { return store().check(); }), 5 * check);
}

}  // namespace
}  // namespace coffer::token
