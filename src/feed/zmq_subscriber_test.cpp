#include "feed/zmq_subscriber.h"

#include <condition_variable>

#include "feed/zmq_test_util.h"

namespace coffer::feed {
namespace {

using Kind = ZmqNotice::Kind;

Hash256 numbered(std::uint8_t number) {
  Hash256 hash{};
  hash[0] = number;
  return hash;
}

TEST(ZmqMessage, ParsesTheDocumentedFormat) {
  // As recorded: the hash as it is printed, so the zeros of its work come first.
  const std::string block = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
  const Hash256 hash = reversed(Hash256::from(from_hex(block)->data()));
  const auto parsed = [](std::string_view topic, const std::string& hex) {
    return parse_zmq_message(topic, from_hex(hex).value());
  };
  EXPECT_EQ(parsed("hashblock", block), (ZmqNotice{Kind::kTip, hash}));
  EXPECT_EQ(parsed("sequence", block + "43"), (ZmqNotice{Kind::kConnected, hash}));
  EXPECT_EQ(parsed("sequence", block + "44"), (ZmqNotice{Kind::kDisconnected, hash}));
  EXPECT_EQ(parsed("sequence", block + "410500000000000000"), (ZmqNotice{Kind::kAdded, hash}));
  EXPECT_EQ(parsed("sequence", block + "520600000000000000"), (ZmqNotice{Kind::kRemoved, hash}));
  for (const char* more :
       {"", "4300", "41", "4100000000000000", "41000000000000000000", "45", "00"})
    EXPECT_EQ(parsed("sequence", block + more), std::nullopt) << more;
  EXPECT_EQ(parsed("sequence", ""), std::nullopt);
  EXPECT_EQ(parsed("hashblock", block + "43"), std::nullopt);
  EXPECT_EQ(parsed("hashblock", block.substr(2)), std::nullopt);
  EXPECT_EQ(parsed("hashtx", block), std::nullopt);
}

class ZmqSubscriberTest : public testing::Test {
 protected:
  void start(std::size_t max_queued = 100) {
    subscriber_ = ZmqSubscriber::start(
                      {{"sequence", publisher_->address()}},
                      [this] {
                        std::lock_guard lock(mutex_);
                        woken_.notify_all();
                      },
                      max_queued)
                      .value();
    ASSERT_TRUE(publisher_->subscribed({"sequence"}));
  }
  // The next notice, waited for.
  std::optional<ZmqNotice> next() {
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, std::chrono::seconds(10), [&] { return subscriber_->pending(); });
    return subscriber_->take();
  }
  // Takes kLosts, at least one, and then this one.
  bool lost_until(const ZmqNotice& last) {
    int lost = 0;
    for (auto notice = next(); notice; notice = next()) {
      if (*notice == last) return lost > 0;
      if (notice->kind != Kind::kLost) return false;
      ++lost;
    }
    return false;
  }
  void publish(char label, std::uint8_t number, std::uint32_t counter) {
    publisher_->publish("sequence", sequence_body(numbered(number), label), counter);
  }

  std::mutex mutex_;
  std::condition_variable woken_;
  std::unique_ptr<ZmqPublisher> publisher_ = std::make_unique<ZmqPublisher>();
  std::unique_ptr<ZmqSubscriber> subscriber_;
};

TEST_F(ZmqSubscriberTest, GapOrDamagedMessageIsALoss) {
  ASSERT_NO_FATAL_FAILURE(start());
  publish('C', 1, 4'294'967'294);  // the first: what came before it is unknown
  publish('A', 2, 4'294'967'295);
  ASSERT_TRUE(lost_until({Kind::kAdded, numbered(2)}));
  EXPECT_TRUE(subscriber_->sequence_live());
  publish('R', 2, 0);  // the counter goes round
  EXPECT_EQ(next(), (ZmqNotice{Kind::kRemoved, numbered(2)}));
  publish('D', 3, 2);
  publish('C', 4, 3);
  ASSERT_TRUE(lost_until({Kind::kConnected, numbered(4)})) << "a gap";

  std::uint32_t counter = 4;
  const Bytes topic = {'s', 'e', 'q', 'u', 'e', 'n', 'c', 'e'};
  const Bytes body = sequence_body(numbered(9), 'A'), four = {9, 0, 0, 0};
  const std::vector<std::vector<Bytes>> damaged = {
      {topic},
      {topic, body},
      {topic, body, {}},
      {topic, body, {1, 2, 3}},
      {topic, body, {1, 2, 3, 4, 5}},
      {topic, body, four, four},
      {topic, Bytes(31, 7), four},
      {topic, sequence_body(numbered(9), 'X'), four},
      {topic, Bytes(4'000, 7), four},
      {{'s', 'e', 'q', 'u', 'e', 'n', 'c', 'e', 's'}, body, four}};
  for (const auto& parts : damaged) {
    SCOPED_TRACE(&parts - damaged.data());
    publisher_->send(parts);
    publish('A', 5, counter++);
    publish('R', 6, counter++);
    ASSERT_TRUE(lost_until({Kind::kRemoved, numbered(6)}));
  }
}

TEST_F(ZmqSubscriberTest, NotificationsAreBounded) {
  ASSERT_NO_FATAL_FAILURE(start(3));
  publish('C', 1, 0);
  for (std::uint8_t i = 1; i <= 40; ++i) publish('A', i, i);
  std::size_t taken = 0;
  bool lost = false;
  for (auto notice = next(); notice && notice->hash != numbered(40); notice = next()) {
    lost |= notice->kind == Kind::kLost;
    ASSERT_LE(++taken, 41u);
  }
  EXPECT_TRUE(lost);
  // A part beyond any bound: that publisher is left for good.
  publisher_->send({{'s', 'e', 'q', 'u', 'e', 'n', 'c', 'e'}, Bytes(1u << 20, 7), {0, 0, 0, 0}});
  EXPECT_EQ(next(), ZmqNotice{});
  EXPECT_FALSE(subscriber_->sequence_live());
}

TEST_F(ZmqSubscriberTest, RestartedNodeIsALossFirst) {
  ASSERT_NO_FATAL_FAILURE(start());
  publish('C', 1, 0);
  publish('A', 2, 1);
  ASSERT_TRUE(lost_until({Kind::kAdded, numbered(2)}));
  const std::string address = publisher_->address();
  publisher_.reset();
  EXPECT_EQ(next(), ZmqNotice{});
  EXPECT_FALSE(subscriber_->sequence_live());
  publisher_ = std::make_unique<ZmqPublisher>(address);
  ASSERT_TRUE(publisher_->subscribed({"sequence"}));
  publish('A', 3, 2);  // follows by chance
  publish('A', 4, 3);
  EXPECT_TRUE(lost_until({Kind::kAdded, numbered(4)}));
  EXPECT_TRUE(subscriber_->sequence_live());
}

TEST(NewsAddress, MalformedAddressIsRefused) {
  const auto none = ZmqSubscriber::start({{"sequence", "nonsense"}}, [] {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace coffer::feed
