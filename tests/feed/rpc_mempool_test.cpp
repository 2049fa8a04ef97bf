// The mempool of a node that answers getrawtransaction with something else than was asked for: only
// bytes that have the id are told (E14).
#include <gtest/gtest.h>

#include <coffer/chain/decode.h>
#include "base/test_log.h"
#include "feed/rpc_source.h"
#include "feed/zmq_test_util.h"
#include "support/chain_builder.h"
#include "support/fake_bitcoind.h"
#include "support/networks.h"

namespace coffer::test {
namespace {

namespace bj = boost::json;
using feed::MempoolAdded;

class RpcMempool : public testing::Test {
 protected:
  static feed::DevTxPtr payment(const feed::DevCoin& coin) {
    feed::TxPlan plan;
    plan.inputs = {coin};
    plan.outputs = {feed::DevCoin{.value = coin.value - 1'000, .owner = 1, .kind = coin.kind}};
    plan.fee = 1'000;
    Rng rng(1);
    return std::make_shared<const feed::DevTx>(feed::make_bitcoin_flavour()->build(plan, rng));
  }
  static std::string printed(const feed::DevTxPtr& tx) {
    return chain::display(chain::Family::kBitcoin, tx->id);
  }
  // In place of the bytes: as a string, or as the member "hex" of an object.
  static RpcFault hex(const std::string& text) {
    return [text](RpcReply& reply) {
      bj::object answer = bj::parse(reply.body).as_object();
      bj::value& result = answer.at("result");
      if (result.is_object())
        result.as_object()["hex"] = text;
      else
        result = bj::string(text);
      reply.body = bj::serialize(answer);
    };
  }
  // All that a source may be told in place of a transaction, none of which it may pass on.
  std::vector<RpcFault> lies() const {
    std::string flipped = to_hex(asked_->wire);
    flipped[10] = flipped[10] == '0' ? '1' : '0';
    return {hex(to_hex(other_->wire)), hex(flipped), hex(to_hex(asked_->wire) + "00"),
            hex(to_hex(asked_->wire).substr(0, 60)), hex("00")};
  }

  void SetUp() override {
    chain_.mine(4);
    asked_ = payment(chain_.coin_of(1));
    other_ = payment(chain_.coin_of(2));
  }
  void start(feed::RpcOptions options, FakeBitcoind::Options node = {}) {
    node_.emplace(chain_.blocks(), std::move(node));
    source_.emplace(feed::RpcEndpoint::parse(node_->url()).value(), kRegtest, system_clock(),
                    options);
  }
  // Steps until `done`; false after a minute. Keeps the ids of what was told.
  template <typename Done>
  bool until(Done done) {
    const std::int64_t deadline_ms = system_clock().steady_ms() + 60'000;
    while (!done()) {
      if (system_clock().steady_ms() > deadline_ms) return false;
      auto step = source_->next(50);
      if (!step) {
        ADD_FAILURE() << step.error().message;
        return false;
      }
      if (std::holds_alternative<feed::NextBlock>(*step)) ++blocks_;
      auto* seen = std::get_if<MempoolAdded>(&*step);
      if (seen == nullptr) continue;
      chain::Block tx;
      EXPECT_TRUE(chain::decode_tx_into(tx, kRegtest, seen->raw));
      if (!tx.txs.empty()) told_.push_back(tx.txs.front().id);
    }
    return true;
  }

  ChainBuilder chain_{chain::Family::kBitcoin};
  feed::DevTxPtr asked_, other_;
  std::optional<FakeBitcoind> node_;
  std::optional<feed::RpcSource> source_;
  std::vector<Hash256> told_;
  std::size_t blocks_ = 0;
};

TEST_F(RpcMempool, OnlyBytesOfTheIdAreReported) {
  feed::RpcOptions options;
  options.poll_ms = 10;
  start(options);
  ASSERT_TRUE(until([&] { return blocks_ == 5; }));
  node_->add_to_mempool(asked_->id, asked_->wire);
  for (const RpcFault& lie : lies()) node_->script("getrawtransaction", lie);
  const LogCapture captured;
  const bool told = until([&] { return !told_.empty(); });
  const std::string logged = captured.text();
  ASSERT_TRUE(told) << logged;
  EXPECT_EQ(told_, std::vector{asked_->id});
  EXPECT_EQ(node_->faults(), lies().size());  // it was asked again each time
  // Once, however often the node is wrong.
  const std::size_t first = logged.find(printed(asked_));
  ASSERT_NE(first, std::string::npos) << logged;
  EXPECT_EQ(logged.find(printed(asked_), first + 1), std::string::npos) << logged;
}

TEST_F(RpcMempool, WrongAnswerDoesNotBlockOthers) {
  feed::RpcOptions options;
  options.poll_ms = 10;
  start(options);
  ASSERT_TRUE(until([&] { return blocks_ == 5; }));
  node_->script("getrawtransaction", lies()[0], {.times = kAlways, .about = printed(asked_)});
  node_->add_to_mempool(asked_->id, asked_->wire);
  const feed::DevTxPtr third = payment(chain_.coin_of(3));
  node_->add_to_mempool(third->id, third->wire);
  ASSERT_TRUE(until([&] { return !told_.empty(); }));
  EXPECT_EQ(told_, std::vector{third->id});
  // What was never told is not said to be gone, and a block of the chain may have it.
  node_->extend(chain_.mine(1, {asked_}));
  ASSERT_TRUE(until([&] { return blocks_ == 6; }));
}

TEST_F(RpcMempool, AlwaysWrongNodeIsAskedBoundedTimes) {
  feed::RpcOptions options;
  options.poll_ms = 3'600'000;
  start(options);
  for (std::uint8_t i = 0; i < 250; ++i) {
    Hash256 id{};
    id.fill(i);
    id[0] = 1;
    node_->add_to_mempool(id, asked_->wire);
  }
  node_->add_to_mempool(asked_->id, asked_->wire);
  ASSERT_TRUE(until([&] { return blocks_ == 5; }));
  ASSERT_TRUE(until([&] { return node_->asked("getrawmempool") > 0; }));
  EXPECT_LE(node_->asked("getrawtransaction"), 100u);
  EXPECT_EQ(told_, std::vector<Hash256>{});
}

TEST_F(RpcMempool, AnnouncedTransactionIsRequestedAgain) {
  feed::ZmqPublisher publisher;
  feed::RpcOptions options;
  options.poll_ms = 10;
  options.mempool_poll_ms = 3'600'000;  // only what was announced is asked for
  start(options, {.zmq = {bj::object{
                      {"type", "pubsequence"}, {"address", publisher.address()}, {"hwm", 1000}}}});
  ASSERT_TRUE(source_->intersect({}));
  ASSERT_TRUE(publisher.subscribed({"sequence"}));
  ASSERT_TRUE(until([&] { return blocks_ == 5; }));
  // The first message begins the count; the source compares the whole mempool then.
  const feed::DevTxPtr third = payment(chain_.coin_of(3));
  node_->add_to_mempool(third->id, third->wire);
  publisher.publish("sequence", feed::sequence_body(third->id, 'A', 1), 0);
  ASSERT_TRUE(until([&] { return told_ == std::vector{third->id}; }));
  const std::size_t polls = node_->asked("getrawmempool");
  node_->script("getrawtransaction", lies()[0], {.about = printed(asked_)});
  node_->add_to_mempool(asked_->id, asked_->wire);
  publisher.publish("sequence", feed::sequence_body(asked_->id, 'A', 2), 1);
  ASSERT_TRUE(until([&] { return told_.size() == 2; }));
  EXPECT_EQ(told_.back(), asked_->id);
  EXPECT_EQ(node_->faults(), 1u);
  EXPECT_GT(node_->asked("getrawmempool"), polls);
}

}  // namespace
}  // namespace coffer::test
