// Several sequencers and many writers, slow ones and such that roll back, each with a database of
// its own as if they were processes: nothing is missed, there is no gap, and nothing is there
// twice.
#include <atomic>
#include <thread>

#include "base/random.h"
#include "token/log/sequencer.h"
#include "token/log/test_log_community.h"

namespace coffer::token {
namespace {

class LogCompetition : public test::LogTest {
 protected:
  static constexpr int kWriters = 8, kSequencers = 3, kRounds = 12;

  // Some rows, a pause, and then a commit or not.
  void write(std::uint64_t seed) {
    Rng rng(seed);
    const auto database = open();
    const Community own(*database, kName);
    for (int round = 0; round < kRounds; ++round) {
      const bool gives_up = rng.one_in(4);
      const std::uint64_t rows = rng.one_in(3) ? 20 : 1;
      const std::int64_t pause_ms = static_cast<std::int64_t>(rng.below(is_sqlite() ? 3 : 25));
      std::vector<Uuid> ids;
      ids.reserve(rows);
      for (std::uint64_t i = 0; i < rows; ++i) ids.push_back(random_uuid());
      const auto done = database->run_transaction(
          [&](sql::Transaction& sql) -> Result<> {
            for (const Uuid& id : ids) TRY(insert_payment(sql, own, id, bank_, alice_, 1));
            std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
            if (gives_up) return fail(Code::kCancelled, "on purpose");
            return {};
          },
          {.max_attempts = 100, .give_up_after_ms = 120'000});
      ASSERT_EQ(done.has_value(), !gives_up) << done.error().message;
      if (done) committed_ += rows;
    }
  }

  void sequence() {
    const auto database = open();
    const Community own(*database, kName);
    while (!writers_done_) {
      const auto pass = run_pass(own, &key_, {.max_entries = 37, .checkpoint_interval_ms = 20});
      ASSERT_TRUE(pass) << pass.error().message;
      passes_ += pass->entries > 0 ? 1 : 0;
      if (pass->is_busy) ++busy_;
      if (!pass->is_full) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  std::atomic<bool> writers_done_ = false;
  std::atomic<std::uint64_t> committed_ = 0, passes_ = 0, busy_ = 0;
};
COFFER_ON_EVERY_ENGINE(LogCompetition);

TEST_P(LogCompetition, NothingIsMissedAndThereIsNoGap) {
  std::vector<std::thread> sequencers, writers;
  for (int i = 0; i < kSequencers; ++i) sequencers.emplace_back([this] { sequence(); });
  for (int i = 0; i < kWriters; ++i)
    writers.emplace_back([this, i] { write(static_cast<std::uint64_t>(i) + 1); });
  for (std::thread& each : writers) each.join();
  writers_done_ = true;
  for (std::thread& each : sequencers) each.join();
  while (pass().entries > 0) {
  }
  const auto entries = checked_entries();
  EXPECT_EQ(entries.size(), committed_ + 2);  // the account and its issuance
  EXPECT_EQ(count("SELECT count(*) FROM @transactions t WHERE NOT EXISTS"
                  " (SELECT 1 FROM @log_leaves l WHERE l.id = t.id)"),
            0);
  EXPECT_EQ(count("SELECT count(*) FROM @log_outbox"), 0);
  EXPECT_GT(passes_, 3u);
}

using LogSequencer = test::LogTest;
COFFER_ON_EVERY_ENGINE(LogSequencer);

TEST_P(LogSequencer, LogsWhatIsCommittedByItself) {
  publish_key();
  const Uuid id = pay(bank_, alice_, 7);
  auto key = crypto::Ed25519Key::from_seed(key_.seed());
  Sequencer sequencer(community(), std::move(key).value(), {.interval_ms = 10});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!log().prove(id) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(log().prove(id));
  EXPECT_EQ(sequencer.counters().entries, 3u);
  EXPECT_GT(sequencer.counters().passes, 0u);
  EXPECT_EQ(sequencer.counters().failures, 0u);
}

TEST_P(LogSequencer, EndsAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  {
    Sequencer sequencer(community(), std::nullopt, {.interval_ms = 60'000});
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_P(LogSequencer, FailureIsToldAndTriedAgain) {
  // The log of a community that is not there.
  const Community missing(db(), "nowhere");
  if (is_sqlite()) GTEST_SKIP() << "a file is a community there";
  Sequencer sequencer(missing, std::nullopt, {.interval_ms = 5});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (sequencer.counters().failures < 2 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_GE(sequencer.counters().failures, 2u);
  EXPECT_FALSE(sequencer.counters().last_error.empty());
}

}  // namespace
}  // namespace coffer::token
