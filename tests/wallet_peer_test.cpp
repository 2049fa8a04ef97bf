// A real Bitcoin node pays a wallet, replaces, reorganises: after each step the wallet's balance is
// what the node's own chain and mempool say of its outputs.
#include <cmath>
#include <thread>

#include "base/temp_dir.h"
#include "chain/decode.h"
#include "chain/script.h"
#include "node_follower.h"
#include "sql/test_engines.h"
#include "wallet/feed.h"

namespace coffer::app {
namespace {

using sql::test::Engine;
using test::kRegtest;

class WalletPeer : public sql::test::EngineTest {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_NODE_OR_SKIP();
    EngineTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    node_.start();
    other_.start();
    store_ = wallet::Store::open(db(), kRegtest).value();
    feed_ = wallet::Feed::open(*store_).value();
    wallet_ = store_->create({"shop"}).value().id;
    stores_.emplace(dir_.path() / "chain", kRegtest, 300);
    bus_.add(*feed_);
  }

  // The outputs of a transaction that pay to the wallet are watched, and asked of the node.
  void owns(ByteView wire) {
    chain::Block block;
    ASSERT_TRUE(chain::decode_tx_into(block, kRegtest, wire));
    std::uint32_t index = 0;
    for (const chain::Output& output : block.outputs_of(block.txs.front())) {
      const chain::Outpoint outpoint{block.txs.front().id, index++};
      if (chain::is_unspendable(output.address)) continue;  // a coinbase's commitment
      ASSERT_TRUE(store_->import_script(wallet_, output.address, {}));
      outputs_.insert(outpoint);
    }
  }

  struct Sums {
    std::uint64_t confirmed = 0, total = 0;
    friend bool operator==(const Sums&, const Sums&) = default;
  };
  // What the node says of our outputs.
  Sums of_node() {
    Sums sums;
    for (const chain::Outpoint& output : outputs_)
      for (const bool mempool : {false, true}) {
        const boost::json::value answer =
            node_.call("gettxout", {test::printed(output.tx), output.index, mempool});
        if (!answer.is_object() || !answer.get_object().contains("value")) continue;
        const double coins = answer.at("value").to_number<double>();
        const auto value = static_cast<std::uint64_t>(std::llround(coins * 1e8));
        if (mempool) sums.total += value;
        if (!mempool) sums.confirmed += value;
      }
    return sums;
  }
  // Ours: the node counts a confirmed coin as there while the mempool spends it.
  Sums of_wallet() {
    Sums sums;
    wallet::CoinQuery query;
    query.page.count = wallet::kMaxPage;
    const wallet::Balance balance = store_->balance(wallet_).value();
    sums.total = balance.total;
    sums.confirmed = balance.confirmed + balance.immature;
    query.states = {wallet::CoinState::kSpent};
    for (const wallet::Coin& coin : store_->coins(wallet_, query).value().items) {
      const auto spender = store_->transaction(wallet_, *coin.spent_by).value();
      if (coin.height && !spender.entry.height) sums.confirmed += coin.amount.value;
    }
    return sums;
  }
  void expect_same(const std::string& after) {
    SCOPED_TRACE(after);
    Sums theirs, ours;
    for (int i = 0; i < 600; ++i) {
      theirs = of_node();
      ours = of_wallet();
      if (ours == theirs && tips_agree()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_TRUE(tips_agree());
    EXPECT_EQ(ours.confirmed, theirs.confirmed);
    EXPECT_EQ(ours.total, theirs.total);
    const auto verified = store_->verify();
    EXPECT_TRUE(verified) << verified.error().message;
  }
  bool tips_agree() {
    return test::printed(feed_->position().point.hash) == node_.text("getbestblockhash");
  }
  wallet::TxStatus status(const feed::DevTxPtr& tx) {
    const auto found = store_->transaction(wallet_, tx->id);
    EXPECT_TRUE(found) << found.error().message;
    return found ? found->entry.status : wallet::TxStatus::kOrphaned;
  }

  test::BitcoinNode node_, other_;
  std::optional<test::Stores> stores_;
  std::unique_ptr<wallet::Store> store_;
  std::unique_ptr<wallet::Feed> feed_;
  wallet::WalletId wallet_;
  std::set<chain::Outpoint> outputs_;
  bus::Bus bus_;
  std::optional<test::NodeFollower> follower_;
};

TEST_P(WalletPeer, PaysReplacesAndReorganises) {
  std::vector<Hash256> branch = {kRegtest.genesis};
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, 0, 110, 0));
  ASSERT_NO_FATAL_FAILURE(other_.copy(node_, 1));

  const auto parent = test::payment(node_.coin_of(1), 1'000);
  const auto child = test::payment(parent->creates.front(), 1'000);
  const auto slow = test::payment(node_.coin_of(2), 1'000);
  const auto fast = test::payment(node_.coin_of(2), 50'000);
  for (const auto& tx : {parent, child, slow, fast}) ASSERT_NO_FATAL_FAILURE(owns(tx->wire));
  follower_.emplace(node_, *stores_, bus_);
  ASSERT_NO_FATAL_FAILURE(expect_same("the first sync"));

  ASSERT_TRUE(follower_->source().broadcast(parent->wire));
  ASSERT_NO_FATAL_FAILURE(expect_same("a payment"));
  EXPECT_GT(store_->balance(wallet_)->unconfirmed, 0u);
  ASSERT_TRUE(follower_->source().broadcast(child->wire));
  ASSERT_TRUE(follower_->source().broadcast(slow->wire));
  ASSERT_NO_FATAL_FAILURE(expect_same("a payment of the payment, and another"));
  EXPECT_EQ(status(slow), wallet::TxStatus::kPublished);

  ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, 110, 1, 0, {parent, child, fast}));
  ASSERT_NO_FATAL_FAILURE(other_.copy(node_, 111));
  ASSERT_NO_FATAL_FAILURE(expect_same("a block with the replacement"));
  EXPECT_EQ(status(slow), wallet::TxStatus::kFailed);
  EXPECT_EQ(status(fast), wallet::TxStatus::kPublished);

  for (const std::uint64_t depth : {1, 3, 30}) {
    ASSERT_NO_FATAL_FAILURE(test::reorganise(
        node_, other_, depth, [&] { ASSERT_NO_FATAL_FAILURE(expect_same("blocks of its own")); }));
    ASSERT_NO_FATAL_FAILURE(expect_same(fmt::format("a reorg of {}", depth)));
  }
}

INSTANTIATE_TEST_SUITE_P(Every, WalletPeer, testing::Values(Engine::kSqlite, Engine::kPostgres),
                         sql::test::engine_name);

}  // namespace
}  // namespace coffer::app
