// What people did outlives a rebuild, until the chain ends it.
#include "base/temp_dir.h"
#include "support/bitcoin_node.h"
#include "support/chain_builder.h"
#include "txstore/support/chain_feeder.h"

namespace coffer::txstore::test {
namespace {

class RebuiltMarks : public testing::Test {
 protected:
  RebuiltMarks() {
    kv::DatabaseOptions options;
    options.path = dir_.path() / "db";
    options.columns = columns();
    db_ = std::move(*kv::Database::open(options));
  }
  // Empties the store, but for the marks, and applies the blocks.
  void rebuild(std::span<const Bytes> blocks) {
    feeder_.reset();
    store_.reset();
    ASSERT_TRUE(erase(*db_));
    store_ = Store::open(*db_, coffer::test::kRegtest, {}, {}).value();
    feeder_.emplace(*store_, coffer::test::kRegtest);
    for (const Bytes& raw : blocks) ASSERT_NO_FATAL_FAILURE(feeder_->add(raw));
  }
  void see(const feed::DevTxPtr& tx) {
    ASSERT_TRUE(feeder_->consumer().on_tx_seen(feeder_->seen(tx->wire)));
  }
  std::optional<StoredTx> get(const feed::DevTxPtr& tx) const {
    return store_->get(std::vector{tx->id}).value().front();
  }

  TempDir dir_;
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<Store> store_;
  std::optional<ChainFeeder> feeder_;
};

TEST_F(RebuiltMarks, LockEndsWithTheBlockThatHasTheTransaction) {
  coffer::test::ChainBuilder chain(chain::Family::kBitcoin);
  chain.mine(105);
  const auto tx = coffer::test::payment(chain.coin_of(1), 1'000);
  const std::vector<Bytes> without = chain.blocks();
  chain.mine(1, {tx});
  ASSERT_NO_FATAL_FAILURE(rebuild(without));
  ASSERT_NO_FATAL_FAILURE(see(tx));
  ASSERT_EQ(store_->lock(std::vector{tx->id})->front().outcome, Outcome::kDone);
  ASSERT_NO_FATAL_FAILURE(rebuild(without));
  EXPECT_FALSE(get(tx));
  ASSERT_NO_FATAL_FAILURE(see(tx));
  EXPECT_TRUE(get(tx)->locked);
  // The block is the first that the rebuilt store hears of it.
  ASSERT_NO_FATAL_FAILURE(rebuild(chain.blocks()));
  EXPECT_EQ(get(tx)->state, State::kMined);
  EXPECT_FALSE(get(tx)->locked);
  ASSERT_NO_FATAL_FAILURE(rebuild(without));
  ASSERT_NO_FATAL_FAILURE(see(tx));
  EXPECT_EQ(get(tx)->state, State::kUnmined);
  EXPECT_FALSE(get(tx)->locked);
}

}  // namespace
}  // namespace coffer::txstore::test
