// News by ZMQ. The peer node publishes none, so a real socket publishes what Core would, in its
// documented bytes, about the real node's blocks and transactions. Polling is as good as off.
#include "feed/zmq_test_util.h"
#include "support/rpc_fixture.h"

namespace coffer::feed {
namespace {

class RpcNews : public Rpc {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_NODE_OR_SKIP();
    ASSERT_NO_FATAL_FAILURE(Rpc::SetUp());
    ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch_, 0, 105, 0));
    RpcOptions options;
    options.poll_ms = options.mempool_poll_ms = kNever;
    source_.emplace(RpcEndpoint::parse(node_.url() + "?zmq=" + publisher_->address()).value(),
                    kRegtest, system_clock(), options);
    ASSERT_TRUE(source_->intersect({}));
    ASSERT_TRUE(publisher_->subscribed({"sequence", "hashblock"}));
  }

  // Steps until `done`; false after a minute.
  template <typename Done>
  bool until(Done done) {
    const std::int64_t deadline_ms = system_clock().steady_ms() + 60'000;
    while (!done()) {
      if (system_clock().steady_ms() > deadline_ms) return false;
      if (const auto took = step(*source_, 1'000); !took) {
        ADD_FAILURE() << took.error().message;
        return false;
      }
    }
    return true;
  }
  bool until_block(const Hash256& hash) {
    return until([&] { return !chain_.empty() && chain_.back() == hash; });
  }

  void say(char label, const Hash256& hash) {
    publisher_->publish("sequence", sequence_body(hash, label), sequence_++);
  }
  // A block into the node, without a word about it.
  Hash256 grow() {
    node_.mine_on(branch_, branch_.size() - 1, 1, 0);
    return branch_.back();
  }
  // From here on the source has heard that both connections were made, and is told of everything.
  void settle() {
    const auto tx = test::payment(node_.coin_of(5), 1'000);
    kept_ = tx->id;
    ASSERT_TRUE(source_->broadcast(tx->wire));
    ASSERT_TRUE(until_node_has(1));
    say('A', kept_);  // the first message: everything is compared
    ASSERT_TRUE(until([&] { return mempool_.contains(kept_); }));
    for (int i = 0; i < 2; ++i) {
      // The node still has it: only a notice that was heard can tell that it goes. Twice, so that
      // nothing of the beginning is left.
      ASSERT_TRUE(until([&] {
        say('R', kept_);
        return !mempool_.contains(kept_);
      }));
      say('A', kept_);
      ASSERT_TRUE(until([&] { return mempool_.contains(kept_); }));
    }
    ASSERT_TRUE(follow(*source_));
    seen_ = dropped_ = 0;
  }
  // Transactions that the node takes into its mempool, without a word about them.
  std::vector<Hash256> pay(std::size_t count) {
    std::vector<Hash256> ids;
    while (ids.size() < count) {
      const auto tx = test::payment(node_.coin_of(ids.size() + 1), 1'000);
      EXPECT_TRUE(source_->broadcast(tx->wire));
      ids.push_back(tx->id);
    }
    EXPECT_TRUE(until_node_has(count + 1));
    return ids;
  }
  bool until_node_has(std::size_t count) {  // bcoin answers before it has looked
    const std::int64_t deadline_ms = system_clock().steady_ms() + 60'000;
    while (node_.mempool().size() != count)
      if (system_clock().steady_ms() > deadline_ms) return false;
    return true;
  }

  std::unique_ptr<ZmqPublisher> publisher_ = std::make_unique<ZmqPublisher>();
  std::vector<Hash256> branch_ = {kRegtest.genesis};
  std::optional<RpcSource> source_;
  std::uint32_t sequence_ = 0;
  Hash256 kept_{};  // in the node's mempool from settle() on
};

TEST_F(RpcNews, TopicSequenceAloneIsEnough) {
  ASSERT_NO_FATAL_FAILURE(settle());
  const std::vector<Hash256> txs = pay(3);
  // Only the one that was told of: nobody looked at the whole mempool.
  say('A', txs[1]);
  ASSERT_TRUE(until([&] { return seen_ > 0; }));
  EXPECT_EQ(mempool_, (std::set<Hash256>{kept_, txs[1]}));
  // Told twice, told of what is not there, told that one goes which was never told of.
  say('A', txs[1]);
  say('A', kRegtest.genesis);
  say('R', txs[2]);
  say('R', txs[1]);
  ASSERT_TRUE(until([&] { return dropped_ > 0; }));
  EXPECT_EQ(mempool_, std::set<Hash256>{kept_});
  EXPECT_EQ(seen_, 1);
  EXPECT_EQ(dropped_, 1);
  // A gap in the counter: everything is compared.
  ++sequence_;
  say('A', txs[0]);
  ASSERT_TRUE(follow(*source_));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  EXPECT_EQ(mempool_.size(), 1 + txs.size());

  // Another branch. The node itself drops its mempool then, which spends young coins; as nobody
  // tells of that, only the blocks change here.
  const std::vector<Hash256> old = branch_;
  ASSERT_NO_FATAL_FAILURE(node_.mine_on(branch_, old.size() - 3, 3, 99));
  for (std::size_t height = old.size() - 1; height > old.size() - 3; --height)
    say('D', old[height]);
  for (std::size_t height = old.size() - 2; height < branch_.size(); ++height)
    say('C', branch_[height]);
  ASSERT_TRUE(until_block(branch_.back()));
  EXPECT_EQ(backwards_, 1);
  EXPECT_EQ(chain_, branch_);
  for (const Hash256& id : txs) say('R', id);
  say('R', kept_);
  ASSERT_TRUE(follow(*source_));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
}

TEST_F(RpcNews, DamagedNotificationsCausePolling) {
  ASSERT_NO_FATAL_FAILURE(settle());
  const Bytes topic = {'s', 'e', 'q', 'u', 'e', 'n', 'c', 'e'};
  const std::vector<std::vector<Bytes>> damaged = {
      {topic}, {topic, Bytes(32, 1), {1, 2, 3, 4}}, {topic, {}, {}}, {topic, Bytes(3'000, 0xff)}};
  for (const auto& parts : damaged) {
    SCOPED_TRACE(&parts - damaged.data());
    const Hash256 tip = grow();
    publisher_->send(parts);
    ASSERT_TRUE(until_block(tip));
  }
  ASSERT_TRUE(follow(*source_));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
}

TEST_F(RpcNews, TopicHashblockBringsBlocksAndRestartEverything) {
  ASSERT_NO_FATAL_FAILURE(settle());
  for (const std::uint32_t counter : {70, 71, 72}) {
    const Hash256 tip = grow();
    publisher_->publish("hashblock", hashblock_body(tip), counter);
    ASSERT_TRUE(until_block(tip));
  }
  // The publisher goes and comes back: what happened meanwhile is found without a word.
  const std::string address = publisher_->address();
  publisher_.reset();
  const Hash256 meanwhile = grow();
  pay(2);
  publisher_ = std::make_unique<ZmqPublisher>(address);
  ASSERT_TRUE(publisher_->subscribed({"sequence", "hashblock"}));
  ASSERT_TRUE(until_block(meanwhile));
  ASSERT_TRUE(follow(*source_));
  ASSERT_NO_FATAL_FAILURE(expect_same_as_node());
  EXPECT_EQ(mempool_.size(), 3u);
}

}  // namespace
}  // namespace coffer::feed
