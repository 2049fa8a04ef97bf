// A real node is followed through its mempool, double spends and reorgs as deep as the window,
// after pruning: everything that the newest blocks spend is served, in the node's bytes.
#include "base/temp_dir.h"
#include "support/node_follower.h"
#include "txstore/support/fed_store.h"

namespace coffer::txstore::test {
namespace {

using coffer::test::BitcoinNode;
using coffer::test::kRegtest;
using coffer::test::payment;
using coffer::test::printed;

constexpr std::uint64_t kNodeWindow = 288;

class FollowedNode : public testing::Test {
 protected:
  // A chain that we mined, with what can be spent on it.
  struct Branch {
    std::vector<Hash256> hashes{kRegtest.genesis};
    std::vector<feed::DevCoin> coinbases{{}};          // by height
    std::vector<std::vector<feed::DevCoin>> made{{}};  // unspent outputs of payments, by height
    std::uint64_t height() const { return hashes.size() - 1; }
    void go_back_to(std::uint64_t height) {
      hashes.resize(height + 1);
      coinbases.resize(height + 1);
      made.resize(height + 1);
    }
  };

  void SetUp() override {
    COFFER_REQUIRE_NODE_OR_SKIP();
    node_.start();
    // The chain itself can be undone further than the store.
    stores_.emplace(dir_.path() / "chain", kRegtest, kNodeWindow + 50);
    kv::DatabaseOptions options;
    options.path = dir_.path() / "db";
    options.columns = columns();
    db_ = kv::Database::open(options).value();
    start();
  }
  void start() {
    store_ = Store::open(*db_, kRegtest, {}, {}).value();
    consumer_ = Consumer::open(*store_).value();
    bus_.emplace();
    bus_->add(*stores_->totals);
    bus_->add(*consumer_);
    follower_.emplace(node_, *stores_, *bus_);
  }
  void stop() {
    follower_.reset();
    bus_.reset();
    consumer_.reset();
    store_.reset();
  }
  void TearDown() override { stop(); }

  // Blocks on the branch's end. Every second one pays a mature coinbase in two parts, and the next
  // one spends both; with another `nonce` every second payment is another one.
  void mine(Branch& branch, std::uint64_t count, std::uint64_t nonce,
            std::vector<feed::DevTxPtr> more = {}) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t height = branch.height() + 1;
      std::vector<feed::DevTxPtr> txs = std::exchange(more, {});
      std::vector<feed::DevCoin> made;
      if (height % 2 == 0 && height > 110) {
        const std::uint64_t fee = height % 4 == 0 ? 1'000 : 1'000 + nonce;
        txs.push_back(payment(branch.coinbases[height - 110], fee, 1, 2));
        made = txs.back()->creates;
      }
      for (const feed::DevCoin& coin : branch.made.back()) txs.push_back(payment(coin, 1'000));
      ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch.hashes, height - 1, 1, nonce, std::move(txs)));
      branch.coinbases.push_back(node_.coin_of(height));
      branch.made.push_back(std::move(made));
    }
  }
  // The node leaves so many blocks for a branch that is one longer.
  void reorganise(Branch& branch, std::uint64_t depth, std::uint64_t nonce) {
    const std::string left = node_.text("getbestblockhash");
    branch.go_back_to(branch.height() - depth);
    ASSERT_NO_FATAL_FAILURE(mine(branch, depth + 1, nonce));
    ASSERT_NE(node_.text("getbestblockhash"), left);
    ASSERT_EQ(node_.text("getbestblockhash"), printed(branch.hashes.back()));
  }

  template <typename Condition>
  bool eventually(Condition condition) {
    const std::int64_t end_ms = system_clock().steady_ms() + 60'000;
    while (!condition()) {
      if (system_clock().steady_ms() > end_ms) return false;
      ::usleep(10'000);
    }
    return true;
  }
  std::set<std::string> unmined() const {
    std::set<std::string> ids;
    Store::ListRequest request;
    request.unmined = true;
    do {
      const auto page = store_->list(request).value();
      for (const StoredTx& tx : page.txs)
        if (!tx.absent_since) ids.insert(printed(tx.id));
      request.cursor = page.cursor;
    } while (!request.cursor.empty());
    return ids;
  }
  bool stands_at_tip(const bus::Position& position) {
    return !position.at_origin && printed(position.point.hash) == node_.text("getbestblockhash");
  }
  // The store becomes what the node has, mempool included.
  void catch_up() {
    ASSERT_TRUE(eventually([&] { return stands_at_tip(consumer_->position()); }))
        << info("txstore").problem;
    ASSERT_TRUE(eventually([&] { return unmined() == node_.mempool(); }))
        << unmined().size() << " unmined, " << node_.mempool().size() << " in the mempool";
    ASSERT_TRUE(bus_->drain());
    highest_tip_ = std::max(highest_tip_, node_.height());
  }
  bus::ConsumerInfo info(std::string_view name) const {
    for (const bus::ConsumerInfo& each : bus_->consumers())
      if (each.name == name) return each;
    ADD_FAILURE() << "no consumer " << name;
    return {};
  }

  const chain::Block& block_at(std::uint64_t height) {
    const std::string hash = node_.hash_at(height);
    auto [at, is_new] = blocks_.try_emplace(hash);
    if (is_new) {
      Bytes raw = from_hex(node_.text("getblock", {hash, false})).value();
      at->second = chain::decode(kRegtest, std::move(raw)).value();
    }
    return at->second;
  }
  // As the node prints it.
  const Bytes& node_tx(const Hash256& id) {
    auto [at, is_new] = txs_.try_emplace(id);
    if (is_new) at->second = from_hex(node_.text("getrawtransaction", {printed(id)})).value();
    return at->second;
  }
  void expect_served(const chain::Block& block) {
    for (const chain::Tx& tx : block.txs) {
      const auto own = store_->body(tx.id);
      ASSERT_TRUE(own) << own.error().message;
      ASSERT_EQ(to_hex(own->raw), to_hex(tx.raw));
      const auto inputs = block.spent_by(tx);
      for (std::uint32_t i = 0; i < inputs.size(); ++i) {
        const chain::Outpoint spent = inputs[i].outpoint();
        const auto parent = store_->body(spent.tx);
        ASSERT_TRUE(parent) << printed(spent.tx) << ": " << parent.error().message;
        ASSERT_EQ(to_hex(parent->raw), to_hex(node_tx(spent.tx)));
        const auto outputs = store_->outputs(spent.tx, spent.index, 1).value();
        ASSERT_EQ(outputs.size(), 1u);
        ASSERT_TRUE(outputs.front().spent);
        ASSERT_EQ(outputs.front().spender, tx.id);
        ASSERT_EQ(outputs.front().spender_input, i);
        ASSERT_EQ(own->inputs[i].amount, outputs.front().amount);
        ++inputs_served_;
      }
    }
  }
  // Every input of the newest blocks, and the stored set by what the node's blocks say.
  void expect_same_as_node() {
    ASSERT_NO_FATAL_FAILURE(catch_up());
    const std::uint64_t tip = node_.height();
    inputs_served_ = 0;
    for (std::uint64_t height = tip + 1 - std::min(tip, kNodeWindow); height <= tip; ++height)
      ASSERT_NO_FATAL_FAILURE(expect_served(block_at(height))) << height;
    EXPECT_GT(inputs_served_, kNodeWindow);
    ExpectedSet expected;
    for (std::uint64_t height = 0; height <= tip; ++height)
      expected.apply(block_at(height), height);
    EXPECT_EQ(difference(mined_ids(*store_), expected.ids(highest_tip_, kNodeWindow)), "");
    ASSERT_NO_FATAL_FAILURE(expect_sound(*store_));
  }
  State state_of(const feed::DevTxPtr& tx) const {
    const auto found = store_->get(std::vector{tx->id}).value();
    EXPECT_TRUE(found.front()) << "not stored";
    return found.front() ? found.front()->state : State::kUnmined;
  }

  TempDir dir_;
  BitcoinNode node_;
  std::optional<coffer::test::Stores> stores_;
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Consumer> consumer_;
  std::optional<bus::Bus> bus_;
  std::optional<coffer::test::NodeFollower> follower_;
  std::map<std::string, chain::Block> blocks_;  // by hash
  std::map<Hash256, Bytes> txs_;
  std::uint64_t inputs_served_ = 0, highest_tip_ = 0;
};

TEST_F(FollowedNode, MempoolDoubleSpendsAndReorgsAsDeepAsTheWindow) {
  Branch branch;
  ASSERT_NO_FATAL_FAILURE(mine(branch, 640, 0));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  EXPECT_GT(store_->counters().deleted, 100u);

  // Odd coinbases are spent by nobody else. This node replaces nothing in its mempool: what wins
  // comes with a block.
  const auto slow = payment(branch.coinbases[501], 1'000);
  const auto child = payment(slow->creates.front(), 1'000);
  const auto fast = payment(branch.coinbases[501], 50'000);
  const auto waiting = payment(branch.coinbases[503], 1'000);
  for (const auto& tx : {slow, child, waiting})
    ASSERT_EQ(follower_->source().broadcast(tx->wire).value(), tx->id);
  ASSERT_NO_FATAL_FAILURE(catch_up());
  ASSERT_EQ(unmined().size(), 3u);
  ASSERT_NO_FATAL_FAILURE(mine(branch, 1, 0, {fast}));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  EXPECT_EQ(state_of(fast), State::kMined);
  EXPECT_EQ(state_of(slow), State::kConflicting);
  EXPECT_EQ(state_of(child), State::kConflicting);
  EXPECT_EQ(state_of(waiting), State::kUnmined);

  for (const std::uint64_t depth : {1u, 30u, 288u}) {
    SCOPED_TRACE(depth);
    const std::uint64_t rollbacks = store_->counters().rollbacks;
    ASSERT_NO_FATAL_FAILURE(reorganise(branch, depth, depth));
    ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
    EXPECT_EQ(store_->counters().rollbacks, rollbacks + 1);
  }

  // One block more is refused whole. The store halts alone and says what to do.
  const std::vector<std::string> before = dump_of(*store_);
  const Tip tip = store_->tip();
  ASSERT_NO_FATAL_FAILURE(reorganise(branch, kNodeWindow + 1, kNodeWindow + 1));
  ASSERT_TRUE(eventually([&] { return stands_at_tip(stores_->totals->position()); }));
  ASSERT_TRUE(eventually([&] { return info("txstore").state == bus::ConsumerState::kHalted; }));
  EXPECT_NE(info("txstore").problem.find("below the final height"), std::string::npos);
  EXPECT_NE(info("txstore").repair.find("coffer tx rebuild"), std::string::npos);
  EXPECT_EQ(info("totals").state, bus::ConsumerState::kRunning);
  EXPECT_EQ(store_->tip().position, tip.position);
  EXPECT_EQ(dump_of(*store_), before);
  ASSERT_NO_FATAL_FAILURE(mine(branch, 1, 0));
  ASSERT_TRUE(eventually([&] { return stands_at_tip(stores_->totals->position()); }));

  // And doing it helps.
  stop();
  ASSERT_TRUE(erase(*db_));
  start();
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
}

}  // namespace
}  // namespace coffer::txstore::test
