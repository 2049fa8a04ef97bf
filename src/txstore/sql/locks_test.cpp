// Units beside each other. On SQLite there is one at a time.
#include <future>
#include <thread>

#include "txstore/sql/test_backend.h"

namespace coffer::txstore::test {
namespace {

constexpr auto kLongEnough = std::chrono::milliseconds(150);  // for what must not happen
constexpr auto kAtMost = std::chrono::seconds(20);            // for what must

class SqlLocks : public SqlBackendTest {
 protected:
  // A unit in a thread of its own that stays open until it is let go.
  struct OpenUnit {
    std::promise<void> begun, let_go;
    std::future<Result<>> done;
  };
  std::unique_ptr<OpenUnit> open_unit(Hold hold) {
    (void)backend();
    auto open = std::make_unique<OpenUnit>();
    open->done = std::async(std::launch::async, [this, hold, at = open.get()] {
      return backend().run(hold, [at](Unit&) -> Result<> {
        at->begun.set_value();
        at->let_go.get_future().wait();
        return {};
      });
    });
    return open;
  }
  static bool has_begun(OpenUnit& unit, std::chrono::milliseconds within) {
    return unit.begun.get_future().wait_for(within) == std::future_status::ready;
  }
  void end(OpenUnit& unit) {
    unit.let_go.set_value();
    ok(unit.done.get());
  }
  // Whether the second waits until the first has ended.
  bool waits(Hold first, Hold second) {
    const auto one = open_unit(first);
    EXPECT_TRUE(has_begun(*one, kAtMost));
    const auto two = open_unit(second);
    auto begun = two->begun.get_future();
    const bool waited = begun.wait_for(kLongEnough) != std::future_status::ready;
    end(*one);
    EXPECT_EQ(begun.wait_for(kAtMost), std::future_status::ready);
    end(*two);
    return waited;
  }
};

TEST_P(SqlLocks, BlocksAndOperationsWaitForEachOther) {
  EXPECT_TRUE(waits(Hold::kRecords, Hold::kTip));
  EXPECT_TRUE(waits(Hold::kTip, Hold::kRecords));
  EXPECT_TRUE(waits(Hold::kTip, Hold::kTip));
}

TEST_P(SqlLocks, OperationsGoBesideEachOther) {
  EXPECT_EQ(waits(Hold::kRecords, Hold::kRecords), is_sqlite());
}

// Otherwise operations that overlap would keep blocks out for ever.
TEST_P(SqlLocks, OperationsDoNotOvertakeABlockThatWaits) {
  const auto first = open_unit(Hold::kRecords);
  EXPECT_TRUE(has_begun(*first, kAtMost));
  const auto block = open_unit(Hold::kTip);
  auto block_begun = block->begun.get_future();
  EXPECT_NE(block_begun.wait_for(kLongEnough), std::future_status::ready);
  const auto second = open_unit(Hold::kRecords);
  auto second_begun = second->begun.get_future();
  EXPECT_NE(second_begun.wait_for(kLongEnough), std::future_status::ready);
  end(*first);
  EXPECT_EQ(block_begun.wait_for(kAtMost), std::future_status::ready);
  EXPECT_NE(second_begun.wait_for(kLongEnough), std::future_status::ready);
  end(*block);
  EXPECT_EQ(second_begun.wait_for(kAtMost), std::future_status::ready);
  end(*second);
}

TEST_P(SqlLocks, ReadersWaitForNobody) {
  store({test_record(1, 1)});
  const auto unit = open_unit(Hold::kTip);
  EXPECT_TRUE(has_begun(*unit, kAtMost));
  EXPECT_TRUE(stored(1).present);
  end(*unit);
}

// Each adds to what it read: a lost update would show.
TEST_P(SqlLocks, OverlappingUnitsLoseNothingAndDoNotDeadlock) {
  constexpr std::uint64_t kThreads = 2, kRounds = 40, kRecords = 12;
  std::vector<Record> records;
  records.reserve(kRecords);
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    records.push_back(test_record(i, 2));
    records.back().head.due_at = 0;
  }
  store(records);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        std::vector<std::uint64_t> some;
        for (std::uint64_t i = 0; i < kRecords; ++i)
          if ((i + round) % 3 != t) some.push_back(i);
        run([&](Unit& unit) -> Result<> {
          std::vector<Record> loaded = asked(some);
          TRY(unit.load(pointers(loaded)));
          for (Record& record : loaded) {
            *record.head.due_at += 1;
            record.dirty = true;
          }
          Changes changes = changes_of(loaded);
          changes.counts.records = static_cast<std::int64_t>(loaded.size());
          return unit.save(std::move(changes));
        });
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kRecords; ++i) sum += *stored(i).head.due_at;
  EXPECT_EQ(sum, kThreads * kRounds * kRecords * 2 / 3);
  read([&](View& view) -> Result<> {
    EXPECT_EQ(TRY(view.counts()).records, static_cast<std::int64_t>(sum));
    return {};
  });
  EXPECT_EQ(db().stats().retries, 0u);
}

COFFER_ON_EVERY_ENGINE(SqlLocks);

class SqlServerLocks : public SqlLocks {
 protected:
  // Whether a lock of this strength on the row of the tip has to wait.
  bool tip_is_held_against(std::string_view strength) {
    std::int64_t free = -1;
    ok(db().run_transaction([&](sql::Transaction& at) -> Result<> {
      free = TRY(at.value<std::int64_t>(fmt::format("SELECT count(*) FROM (SELECT 1 FROM"
                                                    " txstore.txstore_tip FOR {} SKIP LOCKED) t",
                                                    strength)))
                 .value();
      return {};
    }));
    return free == 0;
  }
};

// Whatever else keeps units apart: a pass of cleanup holds the tip, and so does a block.
TEST_P(SqlServerLocks, UnitsHoldTheRowOfTheTip) {
  const auto operation = open_unit(Hold::kRecords);
  EXPECT_TRUE(has_begun(*operation, kAtMost));
  EXPECT_TRUE(tip_is_held_against("UPDATE"));
  EXPECT_FALSE(tip_is_held_against("SHARE"));
  end(*operation);
  const auto block = open_unit(Hold::kTip);
  EXPECT_TRUE(has_begun(*block, kAtMost));
  EXPECT_TRUE(tip_is_held_against("SHARE"));
  end(*block);
  EXPECT_FALSE(tip_is_held_against("UPDATE"));
}

// Both find it absent; the second must see what the first made of it, and not write over it.
TEST_P(SqlServerLocks, UnitThatLosesTheRaceToCreateIsTriedAgain) {
  (void)backend();
  int attempts = 0;
  bool was_present = false;
  run([&](Unit& unit) -> Result<> {
    std::vector<Record> records = asked(std::array<std::uint64_t, 1>{1});
    TRY(unit.load(pointers(records)));
    if (++attempts == 1) std::thread([&] { store({test_record(1, 2)}); }).join();
    was_present = records.front().present;
    if (was_present) return {};
    records = {test_record(1, 1)};
    return unit.save(changes_of(records));
  });
  EXPECT_EQ(attempts, 2);
  EXPECT_TRUE(was_present);
  EXPECT_EQ(stored(1).head.outputs, 2u);
}

COFFER_ON_EVERY_SERVER(SqlServerLocks);

}  // namespace
}  // namespace coffer::txstore::test
