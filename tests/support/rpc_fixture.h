// For tests of the source rpc: follows a real node and keeps what the source said.
#pragma once

#include <set>

#include <coffer/chain/decode.h>
#include "base/result.h"
#include "feed/rpc_source.h"
#include "support/bitcoin_node.h"

namespace coffer::feed {

using test::kRegtest;

class Rpc : public testing::Test {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_NODE_OR_SKIP();
    node_.start();
  }

  std::unique_ptr<RpcSource> source(const chain::Network& network = kRegtest,
                                    const std::string& credentials = "x:coffer@") {
    RpcOptions options;
    options.poll_ms = 10;
    options.max_seen_per_poll = 3;
    return std::make_unique<RpcSource>(RpcEndpoint::parse(node_.url(credentials)).value(), network,
                                       system_clock(), options);
  }

  bool caught_up() {
    const auto tip = node_.call("getbestblockhash"), mempool = node_.call("getrawmempool");
    return !chain_.empty() && tip.is_string() && mempool.is_array() &&
           tip.get_string() == test::printed(chain_.back()) &&
           mempool.get_array().size() == mempool_.size();
  }

  // Takes one step of the source; keeps chain_ and mempool_. False if it was idle.
  Result<bool> step(RpcSource& from, int timeout_ms = 50) {
    SourceEvent step = TRY(from.next(timeout_ms));
    if (auto* forward = std::get_if<NextBlock>(&step)) {
      const chain::Block block = TRY(chain::decode(kRegtest, std::move(forward->raw)));
      EXPECT_EQ(block.prev, chain_.empty() ? Hash256{} : chain_.back());
      chain_.push_back(block.hash);
      for (const chain::Tx& tx : block.txs) mempool_.erase(tx.id);
    } else if (auto* back = std::get_if<RolledBack>(&step)) {
      EXPECT_EQ(chain_.at(back->to.slot.value), back->to.hash);
      chain_.resize(back->to.slot.value + 1);
      ++backwards_;
    } else if (auto* seen = std::get_if<MempoolAdded>(&step)) {
      chain::Block tx;
      TRY(chain::decode_tx_into(tx, kRegtest, seen->raw));
      EXPECT_TRUE(mempool_.insert(tx.txs.front().id).second) << "told twice";
      ++seen_;
    } else if (auto* dropped = std::get_if<MempoolRemoved>(&step)) {
      EXPECT_EQ(mempool_.erase(dropped->id), 1u) << "dropped, but never seen or mined";
      ++dropped_;
    }
    return !std::holds_alternative<Idle>(step);
  }

  // Takes what the source has until that is the node's state, which on a busy machine may be long
  // after the first Idle.
  Result<> follow(RpcSource& from) {
    const std::int64_t deadline_ms = system_clock().steady_ms() + 60'000;
    for (;;)
      if (!TRY(step(from)) && (caught_up() || system_clock().steady_ms() > deadline_ms)) return {};
  }

  // The node's own chain, block by block, and its mempool.
  void expect_same_as_node() {
    ASSERT_EQ(node_.height() + 1, chain_.size());
    for (std::size_t height = 0; height < chain_.size(); ++height)
      ASSERT_EQ(node_.hash_at(height), test::printed(chain_[height])) << height;
    std::set<std::string> ours;
    for (const Hash256& id : mempool_) ours.insert(test::printed(id));
    ASSERT_EQ(ours, node_.mempool());
  }
  std::vector<chain::Point> points() const {
    std::vector<chain::Point> all;
    for (std::size_t height = chain_.size(); height-- > 0;)
      all.push_back({Slot(height), chain_[height]});
    return all;
  }

  test::BitcoinNode node_;
  std::vector<Hash256> chain_;
  std::set<Hash256> mempool_;
  int backwards_ = 0, seen_ = 0, dropped_ = 0;
};

}  // namespace coffer::feed
