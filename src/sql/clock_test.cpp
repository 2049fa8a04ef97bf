// The time of an SQLite database, which processes with different clocks share (W8).
#include "base/result.h"
#include "sql/connection.h"
#include "sql/migrations.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

constexpr std::int64_t kNoon = 1'700'000'000'000;
constexpr std::int64_t kHourMs = 3'600'000;

class SharedTime : public testing::Test {
 protected:
  SharedTime() {
    auto made = open(&right_);
    EXPECT_TRUE(migrate(*made, {}));
  }
  std::unique_ptr<Database> open(const Clock* clock) const {
    DatabaseOptions options;
    options.location = "sqlite:" + (dir_.path() / "a.db").string();
    options.clock = clock;
    return Database::open(options).value();
  }
  static std::int64_t read_time(Database& database) {
    return database.acquire()->value<std::int64_t>("SELECT coffer_now()").value().value();
  }
  static std::int64_t write_time(Database& database) {
    return database
        .run_transaction(
            [](Transaction& t) { return t.value<std::int64_t>("SELECT coffer_now()"); })
        .value()
        .value();
  }
  void pass_ms(std::int64_t ms) {
    right_.advance_ms(ms);
    behind_.advance_ms(ms);
  }

  TempDir dir_;
  ManualClock right_{kNoon}, behind_{kNoon - kHourMs};
};

TEST_F(SharedTime, ProcessBehindFollowsTheOthers) {  // W8
  const auto one = open(&right_), other = open(&behind_);
  EXPECT_EQ(write_time(*one), kNoon);
  EXPECT_EQ(read_time(*other), kNoon);
  EXPECT_EQ(write_time(*other), kNoon);
  // What passes is added, so that a lease ends although nobody with the right clock is there.
  pass_ms(20'000);
  EXPECT_EQ(read_time(*other), kNoon + 20'000);
  EXPECT_EQ(write_time(*other), kNoon + 20'000);
  EXPECT_EQ(write_time(*one), kNoon + 20'000);
}

TEST_F(SharedTime, NeverGoesBack) {  // W8
  const auto one = open(&right_);
  EXPECT_EQ(write_time(*one), kNoon);
  right_.skew_ms(2 * kHourMs);
  EXPECT_EQ(write_time(*one), kNoon + 2 * kHourMs);
  right_.skew_ms(-2 * kHourMs);
  EXPECT_EQ(write_time(*one), kNoon + 2 * kHourMs);
  right_.advance_ms(5);
  EXPECT_EQ(write_time(*one), kNoon + 2 * kHourMs + 5);
  // Also after a restart of the machine, when the steady clock begins anew.
  const ManualClock restarted(kNoon);
  EXPECT_EQ(write_time(*open(&restarted)), kNoon + 2 * kHourMs);
}

TEST_F(SharedTime, IsWrittenDownOnceASecond) {
  const auto one = open(&right_);
  const auto kept = [&] {
    return one->acquire()->value<std::int64_t>("SELECT now_ms FROM coffer_clock").value();
  };
  EXPECT_EQ(write_time(*one), kNoon);
  EXPECT_EQ(kept(), kNoon);
  pass_ms(1'000);
  EXPECT_EQ(write_time(*one), kNoon + 1'000);
  EXPECT_EQ(kept(), kNoon);
  pass_ms(1);
  EXPECT_EQ(read_time(*one), kNoon + 1'001);
  EXPECT_EQ(kept(), kNoon);  // who reads writes nothing
  EXPECT_EQ(write_time(*one), kNoon + 1'001);
  EXPECT_EQ(kept(), kNoon + 1'001);
}

TEST_F(SharedTime, RolledBackTransactionLeavesNothing) {
  const auto one = open(&right_);
  right_.skew_ms(kHourMs);
  const auto refused = one->run_transaction([](Transaction& t) -> Result<> {
    (void)TRY(t.value<std::int64_t>("SELECT coffer_now()"));
    return fail(Code::kConflict, "no");
  });
  EXPECT_FALSE(refused);
  right_.skew_ms(-kHourMs);
  EXPECT_EQ(read_time(*one), kNoon);
}

}  // namespace
}  // namespace coffer::sql::test
