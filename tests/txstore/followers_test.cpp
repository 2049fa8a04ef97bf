// Two processes feed one database from the same chain. Whoever finds the store elsewhere than it
// left it changes nothing, says so, and goes on from there.
#include "base/temp_dir.h"
#include "support/chain_builder.h"
#include "txstore/support/chain_feeder.h"
#include "txstore/support/store_place.h"

namespace coffer::txstore::test {
namespace {

class TxStoreFollowers : public testing::TestWithParam<StoreKind> {
 protected:
  static constexpr std::uint64_t kTestWindow = 8;
  void SetUp() override {
    if (GetParam() == StoreKind::kPostgres) {
      COFFER_REQUIRE_POSTGRES_OR_SKIP();
    }
    Options options;
    options.window = options.block_height_retention = kTestWindow;
    const StorePlace place = StorePlace::fresh(GetParam(), dir_.path(), options);
    for (auto& store : stores_) store = open_store(place);
    for (std::size_t i = 0; i < 2; ++i) followers_[i] = get_value(Consumer::open(**stores_[i]));
    alone_ = open_store(StorePlace::fresh(StoreKind::kRocksDb, dir_.path(), options));
    undisturbed_ = get_value(Consumer::open(**alone_));
  }
  Consumer& one() { return *followers_[0]; }
  Consumer& two() { return *followers_[1]; }

  static bus::BlockApplied applied(const ChainStep& step) { return {step.ordinal, step.block}; }
  static bus::Position after(const ChainStep& step) { return applied(step).position(); }
  static Result<> take(Consumer& consumer, const ChainStep& step) {
    TRY(step.take(consumer));
    return consumer.flush();
  }
  // It finds that the other was there, and stands where that one stopped.
  void expect_led_elsewhere(Consumer& consumer, const ChainStep& step, const bus::Position& to) {
    const std::string before = get_value(dump_store(**stores_[0]));
    const Result<> refused = take(consumer, step);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_NE(refused.error().message.find("led the transaction store elsewhere"),
              std::string::npos)
        << refused.error().message;
    EXPECT_EQ(consumer.position(), to);
    EXPECT_EQ(get_value(dump_store(**stores_[0])), before);
  }
  void expect_same_as_alone() {
    ASSERT_TRUE(verify_store(**stores_[0]));
    EXPECT_EQ(get_value(dump_store(**stores_[0])), get_value(dump_store(**alone_)));
  }

  const TempDir dir_;
  std::unique_ptr<OpenedStore> stores_[2], alone_;
  std::unique_ptr<Consumer> followers_[2], undisturbed_;
};
INSTANTIATE_TEST_SUITE_P(Every, TxStoreFollowers,
                         testing::Values(StoreKind::kSqlite, StoreKind::kPostgres),
                         testing::PrintToStringParamName());

TEST_P(TxStoreFollowers, GoOnFromWhereTheOtherLedTheStore) {
  std::vector<ChainStep> steps;
  for (ChainStep& step : devnet_steps({.seed = 4, .txs_per_block = 8, .reorg_every = 0}, 40))
    if (step.block) steps.push_back(std::move(step));
  std::size_t next = 0;
  while (next < 25) ASSERT_TRUE(take(one(), steps[next++]));
  // Behind, ahead of it by one, and as far as the other.
  ASSERT_NO_FATAL_FAILURE(expect_led_elsewhere(two(), steps[0], after(steps[24])));
  while (next < 30) ASSERT_TRUE(take(two(), steps[next++]));
  ASSERT_NO_FATAL_FAILURE(expect_led_elsewhere(one(), steps[25], after(steps[29])));
  ASSERT_TRUE(take(one(), steps[next++]));
  // A rollback that the other has made already.
  ChainStep back;
  back.rollback_to = after(steps[26]);
  ASSERT_NO_FATAL_FAILURE(expect_led_elsewhere(two(), back, after(steps[30])));
  ASSERT_TRUE(take(two(), back));
  ASSERT_NO_FATAL_FAILURE(expect_led_elsewhere(one(), back, after(steps[26])));
  ASSERT_TRUE(take(one(), back));  // there is nothing more to undo
  for (next = 27; next < steps.size(); ++next) ASSERT_TRUE(take(one(), steps[next]));

  for (std::size_t i = 0; i < 31; ++i) ASSERT_TRUE(take(*undisturbed_, steps[i]));
  ASSERT_TRUE(take(*undisturbed_, back));
  for (std::size_t i = 27; i < steps.size(); ++i) ASSERT_TRUE(take(*undisturbed_, steps[i]));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_alone());
}

// Both at once: each block is applied by exactly one of them, whoever that is.
TEST_P(TxStoreFollowers, AtOnceApplyEachBlockOnce) {
  std::vector<ChainStep> steps;
  for (ChainStep& step : devnet_steps({.seed = 5, .txs_per_block = 8, .reorg_every = 0}, 120))
    if (step.block) steps.push_back(std::move(step));
  std::atomic<int> refused{0}, failed{0};
  std::vector<std::jthread> threads;
  for (const auto& follower : followers_)
    threads.emplace_back([&, consumer = follower.get()] {
      while (failed == 0 && consumer->position().block_count() < steps.size()) {
        const Result<> done = take(*consumer, steps[consumer->position().block_count()]);
        if (done) continue;
        ++(done.error().code == Code::kUnavailable ? refused : failed);
      }
    });
  threads.clear();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(refused, 0);
  for (const ChainStep& step : steps) ASSERT_TRUE(take(*undisturbed_, step));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_alone());
}

}  // namespace
}  // namespace coffer::txstore::test
