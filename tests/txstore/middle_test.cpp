// A store that does not begin where the chain does (X5).
#include "txstore/support/fed_store.h"

namespace coffer::txstore::test {
namespace {

using chain::Family;

constexpr std::uint64_t kMiddleFirst = 200, kMiddleWindow = 50;

class MiddleOfChain : public testing::TestWithParam<std::tuple<Family, Engine>> {
 protected:
  MiddleOfChain() : chain_({.family = family(), .seed = 3, .txs_per_block = 8, .reorg_every = 0}) {
    options_.window = options_.block_height_retention = kMiddleWindow;
    network_ =
        chain::find_network(family() == Family::kBitcoin ? "bitcoin" : "cardano", "devnet").value();
    // What the store never hears of.
    while (chain_.best().size() < kMiddleFirst) {
      const feed::Emission emission = chain_.next();
      chain::Block block = chain::decode(network_, emission.block).value();
      for (const chain::Tx& tx : block.txs) older_.insert(tx.id);
    }
    fed_.emplace(network_, options_, std::vector<chain::GenesisUtxo>{}, kMiddleFirst,
                 std::get<Engine>(GetParam()));
  }
  static Family family() { return std::get<Family>(GetParam()); }
  void feed() {
    feed::Emission emission = chain_.next();
    tell(emission.before);
    fed_->apply(std::move(emission.block));
    tell(emission.after);
  }
  void tell(const std::vector<feed::MempoolEvent>& events) {
    for (const feed::MempoolEvent& event : events)
      event.seen ? fed_->see(event.seen->wire) : fed_->drop(event.dropped);
  }

  feed::DevnetChain chain_;
  chain::Network network_;
  Options options_;
  std::set<Hash256> older_;
  std::optional<FedStore> fed_;
};
INSTANTIATE_TEST_SUITE_P(Chains, MiddleOfChain,
                         testing::Combine(testing::Values(Family::kBitcoin, Family::kCardano),
                                          testing::Values(Engine::kRocksDb, Engine::kSqlite)),
                         family_and_engine);

TEST_P(MiddleOfChain, ChildrenOfOlderParentsAreStored) {
  ASSERT_NO_FATAL_FAILURE(feed());
  Store& store = fed_->store();
  ASSERT_TRUE(store.tip().first_block);
  EXPECT_EQ(store.tip().first_block->ordinal.value, kMiddleFirst);
  Store::ListRequest unmined;
  unmined.unmined = true;
  std::size_t unmined_of_older = 0;
  for (int i = 0; i < 300; ++i) {
    ASSERT_NO_FATAL_FAILURE(feed());
    if (i % 20 != 0) continue;
    const auto page = store.list(unmined).value();
    for (const StoredTx& tx : page.txs) {
      const TxBody body = store.body(tx.id).value();
      for (const StoredInput& input : body.inputs)
        unmined_of_older += older_.contains(input.outpoint.tx) ? 1 : 0;
    }
  }
  EXPECT_GT(unmined_of_older, 0u);
  ASSERT_NO_FATAL_FAILURE(fed_->flush());
  ASSERT_NO_FATAL_FAILURE(fed_->expect_exact());
  ASSERT_NO_FATAL_FAILURE(fed_->expect_bodies());
  EXPECT_GT(store.counters().deleted, 100u);
  EXPECT_EQ(store.counters().parent_missing, 0u);
  for (const Hash256& id : older_)
    ASSERT_EQ(store.absence(id).value(), Absence::kBeforeStart) << id.hex();
  // It is remembered.
  fed_->reopen(options_);
  EXPECT_EQ(fed_->store().tip().first_block->ordinal.value, kMiddleFirst);
}

// A reorg that begins before the first block: nothing that it undoes there is known.
TEST_P(MiddleOfChain, RollbackBelowFirstBlockMovesIt) {
  std::vector<bus::Position> positions;
  for (int i = 0; i < 20; ++i) {
    ASSERT_NO_FATAL_FAILURE(feed());
    ASSERT_NO_FATAL_FAILURE(fed_->flush());
    positions.push_back(fed_->consumer().position());
  }
  const auto before = dump_of(fed_->store());
  const auto after = [&](std::uint64_t height) {
    return bus::Position::after(Ordinal(height), {Slot(height), chain_.best()[height]});
  };
  const auto origin = fed_->consumer().on_rollback({bus::Position::origin()});
  ASSERT_FALSE(origin);
  EXPECT_EQ(origin.error().code, Code::kBeyondWindow);
  EXPECT_EQ(dump_of(fed_->store()), before);
  ASSERT_TRUE(fed_->consumer().on_rollback({positions.front()}));
  ASSERT_NO_FATAL_FAILURE(expect_sound(fed_->store()));
  ASSERT_TRUE(fed_->consumer().on_rollback({after(kMiddleFirst - 1)}));
  EXPECT_TRUE(mined_ids(fed_->store()).empty());
  for (const std::uint64_t height : {kMiddleFirst - 2, kMiddleFirst - 10}) {
    ASSERT_TRUE(fed_->consumer().on_rollback({after(height)}));
    EXPECT_EQ(fed_->store().tip().position, after(height));
    EXPECT_EQ(fed_->store().tip().first_block->ordinal.value, height);
  }
  ASSERT_NO_FATAL_FAILURE(expect_sound(fed_->store()));
}

}  // namespace
}  // namespace coffer::txstore::test
