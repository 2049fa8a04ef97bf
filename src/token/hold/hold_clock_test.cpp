// Holds of one SQLite file, opened and ended by processes with different clocks (W8).
#include "base/temp_dir.h"
#include "token/account/test_village.h"

namespace coffer::token::village {
namespace {

class HoldClocks : public testing::Test {
 protected:
  static constexpr std::int64_t kHourMs = 3'600'000;
  const Actor actor_{"user:tester", "a test"};

  struct Process {
    std::unique_ptr<sql::Database> database;
    std::unique_ptr<Store> store;
  };
  Process open(const Clock& clock) const {
    sql::DatabaseOptions options;
    options.location = "sqlite:" + (dir_.path() / "village.sqlite").string();
    options.clock = &clock;
    Process process{sql::Database::open(options).value(), nullptr};
    process.store =
        Store::open(*process.database, {.community = "village", .schema = sql::Schema::kMigrate})
            .value();
    return process;
  }

  TempDir dir_;
  // SQLite's own clock is that of this machine: it is the one that is behind.
  const std::int64_t real_ms_ = system_clock().unix_ms();
  ManualClock right_{real_ms_ + kHourMs}, behind_{real_ms_};
};

TEST_F(HoldClocks, HoldOfProcessThatIsBehindIsNotEndedEarly) {  // W8
  const Process one = open(right_), other = open(behind_);
  const auto seeded = one.store->seed({.system_account = "treasury", .issuance = 1'000}, actor_);
  ASSERT_TRUE(seeded) << seeded.error().message;
  const auto user = one.store->create_user(id_of(1), "alice", actor_);
  ASSERT_TRUE(user) << user.error().message;
  const NewHold wanted{.id = id_of(2),
                       .wallet = seeded->account.wallet,
                       .to = user->wallet,
                       .amount = 10,
                       .duration_ms = 60'000,
                       .memo = ""};
  const auto opened = other.store->open_hold(wanted, actor_);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->expires_at_ms, right_.unix_ms() + 60'000);
  const auto too_early = one.store->expire_holds();
  ASSERT_TRUE(too_early) << too_early.error().message;
  EXPECT_EQ(*too_early, 0u);
  EXPECT_EQ(one.store->find_hold(wanted.id).value()->state, HoldState::kOpen);
  // By the clock that is behind it would last for another hour.
  right_.advance_ms(60'000);
  behind_.advance_ms(60'000);
  const auto expired = other.store->expire_holds();
  ASSERT_TRUE(expired) << expired.error().message;
  EXPECT_EQ(*expired, 1u);
}

}  // namespace
}  // namespace coffer::token::village
