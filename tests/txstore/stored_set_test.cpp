// The stored set is exactly what must be stored: compared with what the blocks alone say.
#include "txstore/support/chain_feeder.h"

#include "base/temp_dir.h"

namespace coffer::txstore::test {
namespace {

struct Chain {
  const char* name;
  chain::Family family;
  friend std::ostream& operator<<(std::ostream& out, const Chain& chain) {
    return out << chain.name;
  }
};

class StoredSet : public testing::TestWithParam<Chain> {
 protected:
  StoredSet() {
    network_ = chain::find_network(bitcoin() ? "bitcoin" : "cardano", "devnet").value();
    options_.window = options_.block_height_retention = 20;
    kv::DatabaseOptions options;
    options.path = dir_.path() / "db";
    options.columns = columns();
    db_ = std::move(*kv::Database::open(options));
  }
  bool bitcoin() const { return GetParam().family == chain::Family::kBitcoin; }
  void open(std::span<const chain::GenesisUtxo> genesis) {
    store_.reset();
    auto opened = Store::open(*db_, network_, options_, genesis);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  void expect_sound() {
    const auto verified = store_->verify([](std::string_view, std::uint64_t) {});
    ASSERT_TRUE(verified) << verified.error().message;
    EXPECT_EQ(store_->stats()->counts.parent_missing, 0);
  }

  TempDir dir_;
  chain::Network network_;
  Options options_;
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Chains, StoredSet,
                         testing::Values(Chain{"Bitcoin", chain::Family::kBitcoin},
                                         Chain{"Cardano", chain::Family::kCardano}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_P(StoredSet, FollowsMempoolAndReorgs) {
  feed::DevnetChain chain({.family = GetParam().family,
                           .seed = 7,
                           .txs_per_block = 12,
                           .reorg_every = 15,
                           .max_reorg_depth = 10});
  const std::vector<chain::GenesisUtxo> genesis = chain.genesis_utxos();
  ASSERT_NO_FATAL_FAILURE(open(genesis));
  ChainFeeder feeder(*store_, network_);
  for (int i = 0; i < 400; ++i) {
    ASSERT_NO_FATAL_FAILURE(feeder.feed(chain));
    if (i % 50 != 49) continue;
    ASSERT_NO_FATAL_FAILURE(feeder.flush());
    ASSERT_EQ(difference(mined_ids(*store_), feeder.expected(options_.window, genesis)), "")
        << "step " << i;
    ASSERT_NO_FATAL_FAILURE(expect_sound());
  }
  EXPECT_GT(store_->counters().deleted, 500u);
  EXPECT_GT(store_->counters().rollbacks, 5u);
}

}  // namespace
}  // namespace coffer::txstore::test
