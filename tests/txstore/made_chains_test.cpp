// Chains made to be hard on deletion: as many outputs made as spent, many transactions a block, a
// whole window undone.
#include "base/test_data.h"
#include "support/chain_builder.h"
#include "support/networks.h"
#include "support/shell.h"
#include "support/unpack.h"
#include "txstore/support/fed_store.h"

namespace coffer::txstore::test {
namespace {

using chain::Family;
using coffer::test::kRegtest;

// As many outputs are made as are spent: coins go round, split, one by one, and joined again; the
// coinbases of Bitcoin join them once they are mature.
class SteadyChain {
 public:
  explicit SteadyChain(Family family)
      : bitcoin_(family == Family::kBitcoin),
        flavour_(bitcoin_ ? feed::make_bitcoin_flavour() : feed::make_cardano_flavour()),
        builder_(family) {
    if (!bitcoin_) {
      const auto coins = flavour_->genesis_coins();
      for (std::size_t i = 0; i < kLanes; ++i) lanes_.push_back({coins[i]});
    }
    ready_ = builder_.blocks();
  }

  std::vector<chain::GenesisUtxo> genesis() const { return flavour_->genesis_utxos(); }
  Bytes next() {
    if (!ready_.empty()) return std::exchange(ready_, {}).front();
    const std::uint64_t height = builder_.height() + 1;
    std::vector<feed::DevTxPtr> txs;
    if (bitcoin_ && height == kStart)
      for (std::size_t i = 0; i < kLanes; ++i) lanes_.push_back({builder_.coin_of(1 + i)});
    if (bitcoin_ && height >= kStart) {
      std::vector<feed::DevCoin> joined{builder_.coin_of(height - kStart + 1 + kLanes)};
      if (kept_) joined.push_back(*kept_);
      txs.push_back(pay(std::move(joined), 1));
      kept_ = txs.back()->creates.front();
    }
    const std::uint64_t phase = lanes_.empty() ? 0 : moved_++ % 3;
    for (auto& lane : lanes_) {
      std::vector<feed::DevCoin> after;
      const auto add = [&](std::vector<feed::DevCoin> inputs, std::size_t outputs) {
        txs.push_back(pay(std::move(inputs), outputs));
        const auto& made = txs.back()->creates;
        after.insert(after.end(), made.begin(), made.end());
      };
      if (phase == 0)
        add(lane, kParts);
      else if (phase == 2)
        add(lane, 1);
      else
        for (const feed::DevCoin& coin : lane) add({coin}, 1);
      lane = std::move(after);
    }
    return builder_.mine(1, std::move(txs)).front();
  }

 private:
  static constexpr std::size_t kLanes = 4, kParts = 3;
  static constexpr std::uint64_t kStart = 110;

  feed::DevTxPtr pay(std::vector<feed::DevCoin> inputs, std::size_t parts) {
    feed::TxPlan plan;
    std::uint64_t sum = 0;
    for (const feed::DevCoin& coin : inputs) sum += coin.value;
    const std::uint64_t value = (sum - 300) / parts;
    plan.outputs.assign(parts,
                        feed::DevCoin{.value = value, .owner = 1, .kind = inputs.front().kind});
    plan.fee = sum - value * parts;
    plan.inputs = std::move(inputs);
    Rng rng(1);  // which adds no output to other people
    return std::make_shared<const feed::DevTx>(flavour_->build(plan, rng));
  }

  const bool bitcoin_;
  const std::unique_ptr<feed::DevnetFlavour> flavour_;
  coffer::test::ChainBuilder builder_;
  std::vector<Bytes> ready_;
  std::vector<std::vector<feed::DevCoin>> lanes_;
  std::optional<feed::DevCoin> kept_;
  std::uint64_t moved_ = 0;
};

class MadeChains : public testing::TestWithParam<Family> {
 protected:
  chain::Network network() const {
    return chain::find_network(bitcoin() ? "bitcoin" : "cardano", "devnet").value();
  }
  bool bitcoin() const { return GetParam() == Family::kBitcoin; }
};
INSTANTIATE_TEST_SUITE_P(Families, MadeChains, testing::Values(Family::kBitcoin, Family::kCardano),
                         testing::PrintToStringParamName());

TEST_P(MadeChains, SteadyChainDoesNotGrow) {
  SteadyChain chain(GetParam());
  FedStore fed(network(), with_window(288), chain.genesis());
  std::map<std::uint64_t, std::int64_t> records;
  for (std::uint64_t height = 0; height <= 3'000; ++height) {
    ASSERT_NO_FATAL_FAILURE(fed.apply(chain.next()));
    if (height != 600 && height != 1'200 && height != 3'000) continue;
    ASSERT_NO_FATAL_FAILURE(fed.flush());
    ASSERT_NO_FATAL_FAILURE(fed.expect_exact()) << height;
    records[height] = fed.store().stats()->counts.records;
  }
  EXPECT_EQ(records[1'200], records[600]);
  EXPECT_EQ(records[3'000], records[1'200]);
  EXPECT_GT(fed.store().stats()->counts.deleted, 10'000);
}

TEST_P(MadeChains, WithoutCleanupTheStoredSetIsTooLarge) {
  SteadyChain chain(GetParam());
  Options off = with_window(288);
  off.cleanup_budget = 0;  // a pass may look at nothing
  FedStore fed(network(), off, chain.genesis());
  for (int i = 0; i <= 700; ++i) ASSERT_NO_FATAL_FAILURE(fed.apply(chain.next()));
  ASSERT_NO_FATAL_FAILURE(fed.flush());
  const std::string wrong = fed.wrong_ids();
  EXPECT_NE(wrong.find("\n0 missing, "), std::string::npos) << wrong;
  EXPECT_EQ(fed.store().counters().deleted, 0u);
  ASSERT_NO_FATAL_FAILURE(expect_sound(fed.store()));
  // What was not done is done once it may be.
  fed.reopen(with_window(288));
  ASSERT_NO_FATAL_FAILURE(fed.flush());
  ASSERT_NO_FATAL_FAILURE(fed.expect_exact());
}

TEST(DenseChain, StoredSetIsExact) {
  COFFER_REQUIRE_DATA_OR_SKIP(script, "../bench/densechain.py");
  TempDir dir;
  const std::filesystem::path file = dir.path() / "dense.dat";
  ASSERT_TRUE(coffer::test::shell("python3 " + shell_word(script.string()) + " " +
                                  shell_word(file.string()) +
                                  " --blocks 350 --txs 200 --addresses 5000 > /dev/null"));
  std::vector<Bytes> raws = blocks_in(kRegtest, file);
  raws.insert(raws.begin(), coffer::test::regtest_genesis());
  ASSERT_EQ(raws.size(), 461u);
  for (const bool clean : {true, false}) {
    Options options = with_window(288);
    if (!clean) options.cleanup_budget = 0;
    FedStore fed(kRegtest, options);
    ASSERT_NO_FATAL_FAILURE(fed.apply_all(raws));
    if (!clean) {
      EXPECT_NE(fed.wrong_ids(), "");
      continue;
    }
    ASSERT_NO_FATAL_FAILURE(fed.expect_exact());
    ASSERT_NO_FATAL_FAILURE(fed.expect_bodies());
    EXPECT_GT(fed.store().stats()->counts.deleted, 1'000);
  }
}

// Undone as far as it goes and applied again, the chain leaves the same store; one block more is
// refused whole.
class WindowRollback : public testing::TestWithParam<std::tuple<Family, Engine>> {};
INSTANTIATE_TEST_SUITE_P(Chains, WindowRollback,
                         testing::Combine(testing::Values(Family::kBitcoin, Family::kCardano),
                                          testing::Values(Engine::kRocksDb, Engine::kSqlite)),
                         family_and_engine);

TEST_P(WindowRollback, WholeWindowAndNotOneBlockMore) {
  const auto& [family, engine] = GetParam();
  const chain::Network network =
      chain::find_network(family == Family::kBitcoin ? "bitcoin" : "cardano", "devnet").value();
  feed::DevnetChain chain({.family = family, .seed = 11, .txs_per_block = 6, .reorg_every = 0});
  const auto genesis = chain.genesis_utxos();
  FedStore opened(network, with_window(288), genesis, 0, engine);
  Store* const store = &opened.store();
  ChainFeeder feeder(*store, network);
  while (feeder.blocks().size() < 650) ASSERT_NO_FATAL_FAILURE(feeder.add(chain.next().block));
  ASSERT_NO_FATAL_FAILURE(feeder.flush());
  ASSERT_GT(store->counters().deleted, 300u);
  // A child that holds its spend while it is unmined stamps nothing when a block has it again (X3),
  // so the stamps of parents may be lower afterwards; the children keep them as long as before.
  const std::set<int> stamp{3};
  const std::vector<std::string> before = dump_without(*store, stamp);
  const Stats stats_before = store->stats().value();

  const auto refuse = [&](std::uint64_t count) {
    const auto dump = dump_of(*store);
    const Tip tip = store->tip();
    const auto refused = feeder.try_roll_back(count);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kBeyondWindow);
    EXPECT_NE(refused.error().message.find("coffer tx rebuild"), std::string::npos);
    EXPECT_EQ(store->tip().position, tip.position);
    EXPECT_EQ(feeder.consumer().position(), tip.position);
    EXPECT_EQ(dump_of(*store), dump);
  };
  ASSERT_NO_FATAL_FAILURE(refuse(289));
  ASSERT_NO_FATAL_FAILURE(refuse(650));

  const auto blocks = feeder.blocks();
  ASSERT_NO_FATAL_FAILURE(feeder.roll_back(288));
  ASSERT_NO_FATAL_FAILURE(feeder.flush());
  EXPECT_EQ(store->tip().height(), 361u);
  EXPECT_EQ(store->tip().final_height, 361);
  ASSERT_NO_FATAL_FAILURE(expect_sound(*store));
  EXPECT_EQ(difference(mined_ids(*store), feeder.expected(288, genesis)), "");
  ASSERT_NO_FATAL_FAILURE(refuse(1));
  ASSERT_NO_FATAL_FAILURE(refuse(5));

  for (std::size_t height = 362; height < blocks.size(); ++height)
    ASSERT_NO_FATAL_FAILURE(feeder.add(blocks[height]->storage));
  ASSERT_NO_FATAL_FAILURE(feeder.flush());
  EXPECT_EQ(dump_without(*store, stamp), before);
  EXPECT_EQ(store->stats()->counts, stats_before.counts);
  ASSERT_NO_FATAL_FAILURE(expect_sound(*store));
  // And what is left goes when it would have gone.
  for (int i = 0; i < 300; ++i) {
    ASSERT_NO_FATAL_FAILURE(feeder.add(chain.next().block));
    if (i % 50 != 0 && i != 299) continue;
    ASSERT_NO_FATAL_FAILURE(feeder.flush());
    ASSERT_EQ(difference(mined_ids(*store), feeder.expected(288, genesis)), "") << i;
  }
  ASSERT_NO_FATAL_FAILURE(expect_sound(*store));
}

}  // namespace
}  // namespace coffer::txstore::test
