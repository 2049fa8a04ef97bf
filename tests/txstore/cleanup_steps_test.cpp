// Cleanup comes in steps: a budget bounds each, and a newer block does not wait for the rest. And
// a tip that does not follow is refused.
#include "base/temp_dir.h"
#include "txstore/support/chain_feeder.h"
#include "txstore/support/store_place.h"
#include "txstore/support/stores.h"

namespace coffer::txstore::test {
namespace {

constexpr std::uint64_t kStepWindow = 8, kStepBudget = 10, kStepTxs = 12;

class CleanupSteps : public testing::Test {
 protected:
  CleanupSteps() : chain_({.seed = 6, .txs_per_block = kStepTxs, .reorg_every = 0}) {
    options_.window = options_.block_height_retention = kStepWindow;
  }
  // Closes the store and opens it with another budget.
  void open(std::uint64_t budget) {
    if (feeder_) feeder_->close();
    store_.reset();
    options_.cleanup_budget = budget;
    if (!place_) place_ = StorePlace::fresh(StoreKind::kRocksDb, dir_.path(), options_);
    place_->options = options_;
    store_ = open_store(*place_);
    if (feeder_)
      feeder_->reopen(**store_);
    else
      feeder_.emplace(**store_, place_->network);
  }
  std::uint64_t overdue() { return get_value((*store_)->prune(/*dry_run=*/true)).deleted; }

  const TempDir dir_;
  Options options_;
  feed::DevnetChain chain_;
  std::optional<StorePlace> place_;
  std::unique_ptr<OpenedStore> store_;
  std::optional<ChainFeeder> feeder_;
};

TEST_F(CleanupSteps, BudgetBoundsWhatAStepLooksAt) {
  open(0);
  for (int i = 0; i < 150; ++i) ASSERT_NO_FATAL_FAILURE(feeder_->feed(chain_));
  open(kStepBudget);
  const std::uint64_t before = overdue();
  ASSERT_GT(before, 20 * kStepBudget);
  for (std::uint64_t steps = 1;; ++steps) {
    ASSERT_LT(steps, before);
    const CleanupReport step = get_value((*store_)->cleanup());
    EXPECT_LE(step.looked_at, kStepBudget);
    // One transaction is judged whole, if it has no more children than that.
    EXPECT_LE(step.children_read, 2 * kStepBudget);
    if (!step.done) continue;
    EXPECT_GE(steps, before / kStepBudget);
    break;
  }
  EXPECT_EQ(overdue(), 0u);
  EXPECT_TRUE(verify_store(**store_));
}

// Nothing is flushed in between: each block does a part of what is overdue, and more than it
// brings.
TEST_F(CleanupSteps, NewerBlockGoesOnWithThePass) {
  open(0);
  for (int i = 0; i < 300; ++i) ASSERT_NO_FATAL_FAILURE(feeder_->feed(chain_));
  open(kStepBudget);
  const std::uint64_t before = overdue();
  ASSERT_GT(before, 200u);
  std::uint64_t deleted = 0;
  for (int blocks = 0; overdue() > 0; ++blocks) {
    ASSERT_LT(blocks, 200) << "cleanup stays behind";
    ASSERT_NO_FATAL_FAILURE(feeder_->feed(chain_));
    // Steps, until twice what the block brought and a budget more was looked at.
    const std::uint64_t a_block =
        2 * feeder_->blocks().back()->txs.size() + kStepBudget + kStepBudget - 1;
    const std::uint64_t now = (*store_)->counters().deleted;
    EXPECT_GT(now, deleted);
    EXPECT_LE(now - deleted, a_block);
    deleted = now;
  }
  EXPECT_TRUE(verify_store(**store_));
  EXPECT_EQ(difference(mined_ids(**store_), feeder_->expected(kStepWindow)), "");
}

class TxStoreTips : public StoreTest {};
COFFER_ON_EVERY_STORE(TxStoreTips);

TEST_P(TxStoreTips, HeightsThatGoBackAreRefused) {
  TestStore store(GetParam(), {});
  store.jump_to(10);
  ASSERT_EQ(store.create(make_tx(1, {}, 1)), Outcome::kDone);
  const std::string before = store.describe_all();
  for (const bus::Position& to : {block_at(9), block_at(10), block_at(10, 1)}) {
    const Result<> refused = store->advance(to);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidInput);
    EXPECT_EQ(refused.error().message,
              fmt::format("the store is at height 10 and cannot advance to {}", to.ordinal.value));
  }
  EXPECT_EQ(store->advance(bus::Position::origin()).error().code, Code::kInvalidInput);
  EXPECT_EQ(store->begin_after(block_at(20)).error().code, Code::kConflict);
  EXPECT_EQ(store->tip().position, block_at(10));
  EXPECT_EQ(store.describe_all(), before);
}

}  // namespace
}  // namespace coffer::txstore::test
