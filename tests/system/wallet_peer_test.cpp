// A real Bitcoin node pays a wallet, replaces, reorganises, and is another one after a restore:
// after each step the wallet's balance is what the node's own chain and mempool say of its scripts.
#include <thread>

#include <coffer/chain/decode.h>
#include <coffer/wallet/consumer.h>
#include "base/result.h"
#include "base/temp_dir.h"
#include "sql/backup.h"
#include "sql/restore.h"
#include "sql/test_engines.h"
#include "support/node_follower.h"
#include "wallet/schema.h"
#include "wallet/support/node_truth.h"

namespace coffer::tests {
namespace {

using feed::DevTxPtr;
using sql::test::Engine;
using test::kRegtest;
using test::payment;
using Sums = test::NodeTruth::Sums;

// Whom coins are paid to. The wallet has the scripts of the last two.
constexpr std::uint32_t kStranger = 0, kShop = 1, kMiner = 2;

class WalletPeer : public sql::test::EngineTest {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_NODE_OR_SKIP();
    EngineTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    node_.start();
    other_.start();
    stores_.emplace(dir_.path() / "chain", kRegtest, 300);
    store_ = wallet::Store::open(db(), kRegtest).value();
    wallet_ = store_->create({"shop"}).value().id;
    for (const std::uint32_t owner : {kShop, kMiner}) watch(script_of(owner));
  }
  void TearDown() override { stop(); }

  // The program starts, and follows this node.
  void follow(test::BitcoinNode& node) {
    stop();
    if (!store_) store_ = wallet::Store::open(db(), kRegtest).value();
    followed_ = &node;
    feed_ = wallet::Consumer::open(*store_).value();
    bus_.emplace().add(*feed_);
    follower_.emplace(node, *stores_, *bus_);
  }
  void stop() {
    follower_.reset();
    bus_.reset();
    feed_.reset();
  }

  // A copy of the wallets' database, and later that copy in its place.
  void back_up() {
    close();
    if (is_sqlite()) {
      const auto done = sql::backup(db(), dir_.path() / "copy.db");
      ASSERT_TRUE(done) << done.error().message;
      close();
    } else {
      const std::string now = options_.location.substr(options_.location.rfind('=') + 1);
      sql::test::PostgresServer::shared()->run_psql(
          fmt::format("CREATE DATABASE {0}_copy TEMPLATE {0}", now));
    }
  }
  void restore() {
    close();
    if (is_sqlite()) {
      sql::RestoreOptions options;
      options.expected = wallet::migrations(kRegtest);
      options.replace = true;
      const auto done = sql::restore(options_.location, dir_.path() / "copy.db", options);
      ASSERT_TRUE(done) << done.error().message;
    } else {
      options_.location += "_copy";
    }
  }
  void close() {
    stop();
    store_.reset();
    database_.reset();
  }

  static Bytes script_of(std::uint32_t owner) {
    const feed::DevCoin coin{.value = 2'000};
    chain::Block block;
    const DevTxPtr tx = payment(coin, 1'000, owner);
    EXPECT_TRUE(chain::decode_tx_into(block, kRegtest, tx->wire));
    const ByteView script = block.outputs_of(block.txs.front()).front().address;
    return {script.begin(), script.end()};
  }
  void watch(const Bytes& script) {
    ASSERT_TRUE(store_->import_script(wallet_, script, {}));
    truth_.watch(script), other_truth_.watch(script);
  }
  Sums of_node() { return followed_ == &node_ ? truth_.ask() : other_truth_.ask(); }
  // Ours: the node counts a confirmed coin as there while the mempool spends it.
  Sums of_wallet() {
    const auto found = store_->balance(wallet_);
    EXPECT_TRUE(found) << found.error().message;
    const wallet::Balance balance = found.value_or(wallet::Balance{});
    Sums sums{balance.confirmed, balance.immature, balance.total};
    wallet::CoinQuery query;
    query.page.count = wallet::kMaxPage;
    query.states = {wallet::CoinState::kSpent};
    const auto spent = store_->coins(wallet_, query);
    EXPECT_TRUE(spent) << spent.error().message;
    if (!spent) return sums;
    for (const wallet::Coin& coin : spent->items) {
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
    EXPECT_EQ(ours.immature, theirs.immature);
    EXPECT_EQ(ours.total, theirs.total);
    const auto verified = store_->verify();
    EXPECT_TRUE(verified) << verified.error().message;
  }
  bool tips_agree() {
    return test::printed(feed_->position().point.hash) == followed_->text("getbestblockhash");
  }
  // "published", "published@7", "failed: double_spent", "absent".
  std::string status(const Hash256& id) {
    const auto found = store_->transaction(wallet_, id);
    if (!found) return found.error().code == Code::kNotFound ? "absent" : found.error().message;
    std::string text(to_string(found->entry.status));
    if (found->entry.height) text += "@" + std::to_string(*found->entry.height);
    if (!found->entry.reason.empty()) text += ": " + found->entry.reason;
    return text;
  }
  bool in_mempool(const DevTxPtr& tx) {
    return store_->transaction(wallet_, tx->id).value().entry.in_mempool;
  }
  std::string status(const DevTxPtr& tx) { return status(tx->id); }
  // Into the mempool of the node that is followed.
  void broadcast(const DevTxPtr& tx) {
    const auto sent = follower_->source().broadcast(tx->wire);
    ASSERT_TRUE(sent) << sent.error().message;
  }
  // Coins of strangers that no coinbase made: bcoin drops what spends a coinbase at a reorg.
  std::vector<feed::DevCoin> give_strangers_coins(std::vector<Hash256>& branch) {
    node_.mine_on(branch, 0, 101, 0);
    const DevTxPtr many = payment(node_.coin_of(1), 1'000, kStranger, 6);
    node_.mine_on(branch, 101, 2, 0, {many});
    other_.copy(node_, 1);
    return many->creates;
  }

  test::BitcoinNode node_, other_;
  test::BitcoinNode* followed_ = nullptr;
  test::NodeTruth truth_{node_}, other_truth_{other_};
  std::optional<test::Stores> stores_;
  std::unique_ptr<wallet::Store> store_;
  std::unique_ptr<wallet::Consumer> feed_;
  wallet::WalletId wallet_;
  std::optional<bus::Bus> bus_;
  std::optional<test::NodeFollower> follower_;
};

TEST_P(WalletPeer, PaysAndDoubleSpendsInABlock) {
  std::vector<Hash256> branch = {kRegtest.genesis};
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, 0, 110, 0));
  ASSERT_NO_FATAL_FAILURE(other_.copy(node_, 1));
  const auto parent = payment(node_.coin_of(1), 1'000);
  const auto child = payment(parent->creates.front(), 1'000);
  const auto slow = payment(node_.coin_of(2), 1'000);
  const auto fast = payment(node_.coin_of(2), 50'000);
  follow(node_);
  ASSERT_NO_FATAL_FAILURE(expect_same("the first sync"));

  ASSERT_NO_FATAL_FAILURE(broadcast(parent));
  ASSERT_NO_FATAL_FAILURE(expect_same("a payment"));
  EXPECT_GT(store_->balance(wallet_)->unconfirmed, 0u);
  ASSERT_NO_FATAL_FAILURE(broadcast(child));
  ASSERT_NO_FATAL_FAILURE(broadcast(slow));
  ASSERT_NO_FATAL_FAILURE(expect_same("a payment of the payment, and another"));
  EXPECT_EQ(status(slow), "published");

  // W3: a start compares with the mempool, which has got another while nobody looked.
  stop();
  const auto unseen = payment(node_.coin_of(3), 1'000);
  (void)node_.call("sendrawtransaction", {to_hex(unseen->wire)});
  EXPECT_EQ(status(unseen), "absent");
  follow(node_);
  ASSERT_NO_FATAL_FAILURE(expect_same("a start beside a mempool"));
  for (const DevTxPtr& tx : {parent, child, slow, unseen}) {
    EXPECT_EQ(status(tx), "published");
    EXPECT_TRUE(in_mempool(tx));
  }

  ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, 110, 1, 0, {parent, child, fast, unseen}));
  ASSERT_NO_FATAL_FAILURE(other_.copy(node_, 111));
  ASSERT_NO_FATAL_FAILURE(expect_same("a block with another spend"));
  EXPECT_EQ(status(slow), "failed: double_spent");
  EXPECT_EQ(status(fast), "published@111");

  for (const std::uint64_t depth : {1, 30}) {
    ASSERT_NO_FATAL_FAILURE(test::reorganise(
        node_, other_, depth, [&] { ASSERT_NO_FATAL_FAILURE(expect_same("blocks of its own")); }));
    ASSERT_NO_FATAL_FAILURE(expect_same(fmt::format("a reorg of {} above us", depth)));
  }
}

// The other node's branches begin below blocks that pay us, that spend our coin, and whose coinbase
// is ours; then the first branch comes back.
TEST_P(WalletPeer, ReorgUndoesItsBlocksAndTheChainWins) {
  std::vector<Hash256> first = {kRegtest.genesis};
  const auto coins = give_strangers_coins(first);
  std::vector<Hash256> second = first;
  const auto paid = payment(coins[0], 1'000), doomed = payment(coins[1], 1'000);
  const auto spend = payment(paid->creates.front(), 1'000, kStranger);
  const auto rival = payment(coins[1], 5'000, kStranger);  // nothing of it is ours
  const auto waiting = payment(coins[2], 1'000);
  const auto respend = payment(paid->creates.front(), 7'000);
  follow(node_);

  ASSERT_NO_FATAL_FAILURE(node_.mine_on(first, 103, 1, 0, {paid, doomed}));
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(first, 104, 1, 0, {spend}, kMiner));
  const Hash256 reward = node_.coin_of(105).outpoint.tx;
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(first, 105, 1, 0));
  ASSERT_NO_FATAL_FAILURE(expect_same("two payments, a spend and a coinbase"));
  EXPECT_EQ(status(paid), "published@104");
  EXPECT_EQ(status(spend), "published@105");
  EXPECT_EQ(status(reward), "published@105");
  const std::uint64_t each = doomed->creates[0].value, coinbase = node_.coin_of(105).value;
  EXPECT_EQ(of_wallet(), (Sums{each, coinbase, each + coinbase}));
  // bcoin puts transactions of lost blocks back into a mempool only if that is not empty.
  ASSERT_NO_FATAL_FAILURE(broadcast(waiting));
  ASSERT_NO_FATAL_FAILURE(expect_same("a payment that stays unconfirmed"));

  ASSERT_NO_FATAL_FAILURE(other_.mine_on(second, 103, 4, 1));
  ASSERT_NO_FATAL_FAILURE(node_.copy(other_, 104));
  ASSERT_NO_FATAL_FAILURE(expect_same("a longer branch without any of it"));
  for (const DevTxPtr& tx : {paid, doomed, spend}) EXPECT_EQ(status(tx), "published");
  EXPECT_EQ(status(reward), "orphaned: reorganised");
  EXPECT_EQ(of_wallet(), (Sums{0, 0, 2 * each}));

  ASSERT_NO_FATAL_FAILURE(node_.mine_on(second, 107, 1, 1, {paid}));
  ASSERT_NO_FATAL_FAILURE(expect_same("the payment again"));
  EXPECT_EQ(status(paid), "published@108");
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(second, 108, 1, 1, {rival}));
  ASSERT_NO_FATAL_FAILURE(expect_same("a double spend of the other one"));
  EXPECT_EQ(status(doomed), "failed: double_spent");
  EXPECT_EQ(of_wallet(), (Sums{each, 0, each}));  // the mempool spends the first

  ASSERT_NO_FATAL_FAILURE(other_.copy(node_, 108));
  std::vector<Hash256> third = second;
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(second, 109, 1, 1, {spend}));
  ASSERT_NO_FATAL_FAILURE(expect_same("the spend again"));
  EXPECT_EQ(status(spend), "published@110");
  ASSERT_NO_FATAL_FAILURE(other_.mine_on(third, 109, 2, 2, {respend}));
  ASSERT_NO_FATAL_FAILURE(node_.copy(other_, 110));
  ASSERT_NO_FATAL_FAILURE(expect_same("a branch that spends our coin otherwise"));
  EXPECT_EQ(status(spend), "failed: double_spent");
  EXPECT_EQ(status(respend), "published@110");
  EXPECT_EQ(of_wallet().confirmed, respend->creates[0].value);

  ASSERT_NO_FATAL_FAILURE(node_.mine_on(first, 106, 6, 3));
  ASSERT_NO_FATAL_FAILURE(expect_same("the first branch, longer now"));
  EXPECT_EQ(status(paid), "published@104");
  EXPECT_EQ(status(doomed), "published@104");
  EXPECT_EQ(status(spend), "published@105");
  EXPECT_EQ(status(reward), "published@105");
  EXPECT_EQ(status(respend), "failed: double_spent");
  EXPECT_EQ(status(waiting), "published");
  EXPECT_EQ(of_wallet(), (Sums{each, coinbase, 2 * each + coinbase}));
}

// bcoin 1.0.2 replaces nothing in a mempool: its option replaceByFee only lets transactions in that
// signal it, and isDoubleSpend() refuses every second spend (lib/mempool/mempool.js). So the
// replacement is what another node's mempool holds, and that node is followed from then on.
TEST_P(WalletPeer, ReplacesByMempoolOfAnotherNode) {
  std::vector<Hash256> branch = {kRegtest.genesis};
  const auto coins = give_strangers_coins(branch);
  const auto slow = payment(coins[0], 1'000), fast = payment(coins[0], 50'000);
  const auto child = payment(slow->creates.front(), 1'000);
  follow(node_);
  ASSERT_NO_FATAL_FAILURE(broadcast(slow));
  ASSERT_NO_FATAL_FAILURE(broadcast(child));
  ASSERT_NO_FATAL_FAILURE(expect_same("a payment and its child"));
  (void)node_.call("sendrawtransaction", {to_hex(fast->wire)});
  EXPECT_EQ(node_.mempool(), (std::set{test::printed(slow->id), test::printed(child->id)}));

  follow(other_);
  ASSERT_NO_FATAL_FAILURE(broadcast(fast));
  ASSERT_NO_FATAL_FAILURE(expect_same("the replacement"));
  EXPECT_EQ(status(slow), "replaced: replaced");
  EXPECT_EQ(status(child), "failed: parent_invalid");
  EXPECT_EQ(status(fast), "published");
  EXPECT_EQ(store_->transaction(wallet_, slow->id)->entry.replaced_by, std::vector{fast->id});
  EXPECT_EQ(store_->transaction(wallet_, fast->id)->entry.replaces, std::vector{slow->id});
  EXPECT_EQ(of_wallet(), (Sums{0, 0, fast->creates[0].value}));

  // The first one is mined after all.
  ASSERT_NO_FATAL_FAILURE(other_.mine_on(branch, 103, 1, 0, {slow}));
  ASSERT_NO_FATAL_FAILURE(expect_same("a block with what was replaced"));
  EXPECT_EQ(status(slow), "published@104");
  EXPECT_EQ(status(fast), "failed: double_spent");
}

// 000 §4.5. What is unconfirmed in the backup was mined, double-spent, replaced or forgotten since,
// and its last block is on no chain any more.
TEST_P(WalletPeer, RestoredWalletCatchesUp) {
  std::vector<Hash256> first = {kRegtest.genesis};
  const auto coins = give_strangers_coins(first);
  std::vector<Hash256> second = first;
  const auto early = payment(coins[0], 1'000), mined = payment(coins[1], 1'000);
  const auto doomed = payment(coins[2], 1'000), rival = payment(coins[2], 9'000);
  const auto slow = payment(coins[3], 1'000), fast = payment(coins[3], 50'000);
  const auto forgotten = payment(coins[4], 1'000), later = payment(coins[5], 1'000);
  const auto spend = payment(mined->creates.front(), 1'000, kStranger);
  follow(node_);
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(first, 103, 1, 0, {early}, kMiner));
  const Hash256 reward = node_.coin_of(104).outpoint.tx;
  for (const auto& tx : {mined, doomed, slow, forgotten}) ASSERT_NO_FATAL_FAILURE(broadcast(tx));
  ASSERT_NO_FATAL_FAILURE(expect_same("before the backup"));
  EXPECT_EQ(status(early), "published@104");
  EXPECT_EQ(status(reward), "published@104");
  const Sums before = of_wallet();
  ASSERT_NO_FATAL_FAILURE(back_up());

  follow(other_);
  ASSERT_NO_FATAL_FAILURE(other_.mine_on(second, 103, 1, 1, {mined, rival}));
  ASSERT_NO_FATAL_FAILURE(other_.mine_on(second, 104, 2, 1, {early, spend, later}));
  ASSERT_NO_FATAL_FAILURE(broadcast(fast));
  ASSERT_NO_FATAL_FAILURE(broadcast(forgotten));
  ASSERT_NO_FATAL_FAILURE(expect_same("what the backup does not know"));
  const Sums after = of_wallet();
  EXPECT_NE(before, after);

  ASSERT_NO_FATAL_FAILURE(restore());
  store_ = wallet::Store::open(db(), kRegtest).value();
  EXPECT_EQ(of_wallet(), before);
  // The node forgot one of them, as nodes do.
  other_.kill();
  ASSERT_NO_FATAL_FAILURE(other_.start());
  ASSERT_NO_FATAL_FAILURE(other_.copy(node_, 1));
  ASSERT_NO_FATAL_FAILURE(other_.mine_on(second, 103, 1, 1, {mined, rival}));
  ASSERT_NO_FATAL_FAILURE(other_.mine_on(second, 104, 2, 1, {early, spend, later}));
  follow(other_);
  ASSERT_NO_FATAL_FAILURE(broadcast(fast));
  for (int i = 0; i < 600 && (!tips_agree() || status(fast) == "absent"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(status(forgotten), "published");
  EXPECT_FALSE(in_mempool(forgotten));
  ASSERT_NO_FATAL_FAILURE(broadcast(forgotten));
  ASSERT_NO_FATAL_FAILURE(expect_same("the restored wallet"));
  EXPECT_EQ(of_wallet(), after);
  EXPECT_TRUE(in_mempool(forgotten));
  EXPECT_EQ(status(early), "published@105");
  EXPECT_EQ(status(reward), "orphaned: reorganised");
  EXPECT_EQ(status(mined), "published@104");
  EXPECT_EQ(status(spend), "published@105");
  EXPECT_EQ(status(later), "published@105");
  EXPECT_EQ(status(doomed), "failed: double_spent");
  EXPECT_EQ(status(slow), "replaced: replaced");
  EXPECT_EQ(status(fast), "published");
}

INSTANTIATE_TEST_SUITE_P(Every, WalletPeer, testing::Values(Engine::kSqlite, Engine::kPostgres),
                         sql::test::engine_name);

}  // namespace
}  // namespace coffer::tests
