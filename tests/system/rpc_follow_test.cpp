// A real Bitcoin node is followed through the whole flow: source, chain state, bus, consumers;
// mining, mempool, replacement, and reorgs made with a second node.
#include <condition_variable>

#include "base/temp_dir.h"
#include "support/node_follower.h"

namespace coffer::tests {
namespace {

using test::kRegtest;

// Keeps what it is told of the mempool.
class Recorder final : public bus::Consumer {
 public:
  std::string_view name() const override { return "recorder"; }
  bus::Position position() const override {
    std::lock_guard lock(mutex_);
    return position_;
  }
  Result<> on_block(const bus::BlockApplied& block) override {
    return change([&] {
      position_ = block.position();
      for (const chain::Tx& tx : block.block->txs) mempool_.erase(test::printed(tx.id));
    });
  }
  Result<> on_rollback(const bus::RolledBack& rollback) override {
    return change([&] {
      position_ = rollback.to;
      ++rollbacks_;
    });
  }
  Result<> on_tx_seen(const bus::TxSeen& seen) override {
    return change([&] {
      EXPECT_TRUE(mempool_.insert(test::printed(seen.id())).second) << "told twice";
      seen_.insert(test::printed(seen.id()));
    });
  }
  Result<> on_tx_dropped(const bus::TxDropped& dropped) override {
    return change([&] {
      EXPECT_EQ(mempool_.erase(test::printed(dropped.id)), 1u) << "never seen";
      dropped_.insert(test::printed(dropped.id));
    });
  }
  std::string repair() const override { return ""; }

  // Looks again whenever something was told, and now and then for the node's own changes.
  template <typename Condition>
  bool eventually(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(50));
    }
    return true;
  }
  std::set<std::string> mempool() const { return copy(mempool_); }
  std::set<std::string> seen() const { return copy(seen_); }
  std::set<std::string> dropped() const { return copy(dropped_); }
  int rollbacks() const {
    std::lock_guard lock(mutex_);
    return rollbacks_;
  }

 private:
  template <typename Change>
  Result<> change(Change apply) {
    std::lock_guard lock(mutex_);
    apply();
    changed_.notify_all();
    return {};
  }
  std::set<std::string> copy(const std::set<std::string>& ids) const {
    std::lock_guard lock(mutex_);
    return ids;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bus::Position position_;
  std::set<std::string> mempool_, seen_, dropped_;
  int rollbacks_ = 0;
};

class RpcFollow : public testing::Test {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_NODE_OR_SKIP();
    node_.start();
    other_.start();
    stores_.emplace(dir_.path(), kRegtest, 300);
    bus_.add(*stores_->totals);
    bus_.add(*stores_->events);
    bus_.add(recorder_);
    follower_.emplace(node_, *stores_, bus_);
  }

  void arrives(const feed::DevTxPtr& tx) {
    ASSERT_EQ(follower_->source().broadcast(tx->wire).value(), tx->id);
    const std::string id = test::printed(tx->id);
    ASSERT_TRUE(recorder_.eventually([&] { return recorder_.seen().contains(id); })) << id;
  }

  // What we have becomes what the node has: every block by the node's own answer, and the mempool.
  void expect_same_as_node() {
    EXPECT_TRUE(recorder_.eventually([&] {
      const auto position = recorder_.position();
      return !position.at_origin &&
             test::printed(position.point.hash) == node_.text("getbestblockhash") &&
             recorder_.mempool() == node_.mempool();
    }));
    const std::uint64_t height = node_.height();
    ASSERT_EQ(stores_->chain->position().block_count(), height + 1);
    for (std::uint64_t h = 0; h <= height; ++h)
      ASSERT_EQ(test::printed(stores_->chain->at(Ordinal(h)).value().value().hash),
                node_.hash_at(h))
          << h;
    EXPECT_EQ(recorder_.mempool(), node_.mempool());
  }

  TempDir dir_;
  test::BitcoinNode node_, other_;
  std::optional<test::Stores> stores_;
  Recorder recorder_;
  bus::Bus bus_;
  std::optional<test::NodeFollower> follower_;
};

TEST_F(RpcFollow, MiningMempoolReplacementAndReorgsMadeWithASecondNode) {
  std::vector<Hash256> branch = {kRegtest.genesis};
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, 0, 110, 0));
  ASSERT_NO_FATAL_FAILURE(other_.copy(node_, 1));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());

  // Arrivals, one of them on top of another.
  const auto parent = test::payment(node_.coin_of(1), 1'000);
  const auto child = test::payment(parent->creates.front(), 1'000);
  const auto slow = test::payment(node_.coin_of(2), 1'000);
  const auto other = test::payment(node_.coin_of(3), 1'000);
  for (const auto& tx : {parent, child, slow, other}) ASSERT_NO_FATAL_FAILURE(arrives(tx));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  EXPECT_EQ(recorder_.mempool().size(), 4u);

  // Replacement: this node takes no second transaction on a coin into its mempool, whatever the
  // fee; what replaces the first comes with a block, which also takes two of the others.
  const auto fast = test::payment(node_.coin_of(2), 50'000);
  (void)follower_->source().broadcast(fast->wire);
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  EXPECT_EQ(recorder_.mempool().size(), 4u);
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch, 110, 1, 0, {parent, child, fast}));
  ASSERT_NO_FATAL_FAILURE(other_.copy(node_, 111));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  EXPECT_EQ(recorder_.mempool(), std::set<std::string>{test::printed(other->id)});
  EXPECT_EQ(recorder_.dropped(), std::set<std::string>{test::printed(slow->id)});

  int reorgs = 0;
  for (const std::uint64_t depth : {1, 3, 30}) {
    SCOPED_TRACE(depth);
    ASSERT_NO_FATAL_FAILURE(test::reorganise(node_, other_, depth, [&] {
      ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
      EXPECT_EQ(recorder_.rollbacks(), reorgs);
    }));
    ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
    EXPECT_EQ(recorder_.rollbacks(), ++reorgs);
  }
  follower_.reset();
  EXPECT_TRUE(stores_->chain->verify());
  EXPECT_EQ(stores_->totals->position(), stores_->chain->position());
  EXPECT_EQ(stores_->events->position(), stores_->chain->position());
}

}  // namespace
}  // namespace coffer::tests
