#include <coffer/bus/bus.h>
#include "base/result.h"

#include <gtest/gtest.h>

#include <future>

namespace coffer::bus {
namespace {

// Blocks of a toy chain: the hash is branch and ordinal.
Hash256 toy_hash(std::uint8_t branch, std::uint64_t ordinal) {
  Hash256 hash{};
  hash[0] = branch;
  store_le(hash.data() + 8, ordinal);
  hash[31] = 1;
  return hash;
}

BlockApplied toy_block(std::uint8_t branch, std::uint64_t ordinal, std::uint8_t parent_branch,
                       bool below = false) {
  auto block = std::make_shared<chain::Block>();
  block->hash = toy_hash(branch, ordinal);
  if (ordinal > 0) block->prev = toy_hash(parent_branch, ordinal - 1);
  block->slot = Slot(ordinal);
  return {Ordinal(ordinal), block, below};
}
BlockApplied toy_block(std::uint64_t ordinal, bool below = false) {
  return toy_block(0, ordinal, 0, below);
}

class Recorder : public Consumer {
 public:
  explicit Recorder(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  Position position() const override {
    std::lock_guard lock(mutex_);
    return position_;
  }
  Result<> on_block(const BlockApplied& block) override {
    if (gate.valid()) gate.wait();
    if (fail_times > 0) {
      --fail_times;
      return fail(Error{failure, info(failure).retryable, "told to fail"});
    }
    std::lock_guard lock(mutex_);
    position_ = block.position();
    seen += fmt::format("+{} ", block.ordinal.value);
    return {};
  }
  Result<> on_rollback(const RolledBack& rollback) override {
    std::lock_guard lock(mutex_);
    position_ = rollback.to;
    seen += fmt::format("-{} ", rollback.to.block_count());
    return {};
  }
  Result<> on_tx_dropped(const TxDropped&) override {
    seen += "x ";
    return {};
  }
  Result<> flush() override {
    ++flushes;
    return {};
  }
  bool can_wait() const override { return waits; }
  Result<> probe() override {
    if (away > 0) return --away, fail(still, "still away");
    return flush();
  }
  std::string repair() const override { return "rebuild it"; }

  std::string seen;
  std::atomic<int> flushes{0};
  std::atomic<int> fail_times{0};
  std::atomic<int> away{0};
  bool waits = false;
  Code failure = Code::kUnavailable;
  Code still = Code::kUnavailable;
  std::shared_future<void> gate;

 private:
  const std::string name_;
  mutable std::mutex mutex_;
  Position position_;
};

TEST(Bus, DeliversInOrderAndFlushesWhenIdle) {
  Recorder a("a"), b("b");
  Bus bus;
  bus.add(a), bus.add(b);
  bus.start();
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(bus.publish(toy_block(i, true)));
  ASSERT_TRUE(bus.publish(TxDropped{}));
  ASSERT_TRUE(bus.publish(RolledBack{Position::after(Ordinal(0), {Slot(0), toy_hash(0, 0)})}));
  ASSERT_TRUE(bus.publish(toy_block(1, 1, 0)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(a.seen, "+0 +1 +2 x -1 +1 ");
  EXPECT_EQ(b.seen, a.seen);
  EXPECT_GT(a.flushes, 0);
  EXPECT_EQ(bus.lowest_position()->block_count(), 2u);
}

TEST(Bus, FlushesLaterWhileTheSourceHasMore) {
  Recorder a("a");
  Bus bus({.flush_delay_ms = 60'000});
  bus.add(a);
  bus.start();
  BlockApplied block = toy_block(0);
  block.behind = 7;
  ASSERT_TRUE(bus.publish(block));
  while (a.position().block_count() == 0) std::this_thread::yield();
  EXPECT_EQ(a.flushes, 0);
  ASSERT_TRUE(bus.drain());  // does not wait for the minute
  EXPECT_EQ(a.flushes, 1);
  ASSERT_TRUE(bus.publish(toy_block(1)));  // at the tip nothing lingers
  while (a.flushes < 2) std::this_thread::yield();
}

TEST(Bus, TransactionsDoNotDelayTheFlush) {
  Recorder a("a");
  Bus bus({.flush_delay_ms = 100});
  bus.add(a);
  bus.start();
  BlockApplied block = toy_block(0);
  block.behind = 7;
  ASSERT_TRUE(bus.publish(block));
  // One every few milliseconds, as a mempool has them, while the next block does not come.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (a.flushes == 0 && std::chrono::steady_clock::now() < end) {
    ASSERT_TRUE(bus.publish(TxDropped{}));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GT(a.flushes, 0);
}

TEST(Bus, SkipsBlocksThatTheConsumerHas) {  // E3
  Recorder a("a");
  Bus bus;
  bus.add(a);
  bus.start();
  for (std::uint64_t i : {0, 1, 1, 0, 1, 2}) ASSERT_TRUE(bus.publish(toy_block(i)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(a.seen, "+0 +1 +2 ");
}

TEST(Bus, FailingConsumerHaltsAlone) {  // E10
  Recorder good("good"), bad("bad");
  bad.fail_times = 1;
  bad.failure = Code::kBeyondWindow;
  Bus bus;
  bus.add(good), bus.add(bad);
  bus.start();
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(bus.publish(toy_block(i)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(good.position().block_count(), 5u);
  const auto infos = bus.consumers();
  EXPECT_EQ(infos[0].state, ConsumerState::kRunning);
  EXPECT_EQ(infos[1].state, ConsumerState::kHalted);
  EXPECT_EQ(infos[1].problem, "told to fail");
  EXPECT_EQ(infos[1].repair, "rebuild it");
  EXPECT_EQ(bus.lowest_position()->block_count(), 5u);  // the halted one holds nobody back
}

TEST(Bus, RetryableErrorsAreRetried) {
  Recorder a("a");
  a.fail_times = 3;
  Bus bus({.first_pause_ms = 1});
  bus.add(a);
  bus.start();
  ASSERT_TRUE(bus.publish(toy_block(0)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(a.seen, "+0 ");
  a.fail_times = 100;
  ASSERT_TRUE(bus.publish(toy_block(1)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(bus.consumers()[0].state, ConsumerState::kHalted);
}

TEST(Bus, WaitingConsumerGetsNoEventsUntilResumed) {
  Recorder steady("steady"), remote("remote");
  remote.waits = true;
  remote.fail_times = 3;
  remote.away = 2;
  Bus bus({.retries = 1, .first_pause_ms = 1, .first_wait_ms = 1});
  bus.add(steady), bus.add(remote);
  bus.start();
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(bus.publish(toy_block(i)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(steady.seen, "+0 +1 +2 ");
  EXPECT_EQ(bus.consumers()[1].state, ConsumerState::kWaiting);
  EXPECT_EQ(bus.lowest_position()->block_count(), 3u);  // it holds nobody back
  while (!bus.has_recovered()) std::this_thread::yield();
  EXPECT_EQ(remote.away, 0);
  ASSERT_TRUE(bus.publish(toy_block(3)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(remote.seen, "");
  bus.resume();
  EXPECT_FALSE(bus.has_recovered());
  EXPECT_EQ(bus.consumers()[1].state, ConsumerState::kRunning);
  EXPECT_EQ(bus.consumers()[1].problem, "");
  EXPECT_EQ(bus.lowest_position()->block_count(), 0u);
  // The first of them fails once more, and trying again is enough.
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(bus.publish(toy_block(i)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(remote.seen, "+0 +1 +2 +3 ");
  EXPECT_EQ(steady.seen, "+0 +1 +2 +3 ");
}

TEST(Bus, StopEndsAWaitingConsumer) {
  Recorder remote("remote");
  remote.waits = true;
  remote.fail_times = 100;
  remote.away = 1'000'000;
  Bus bus({.retries = 0, .first_wait_ms = 600'000});
  bus.add(remote);
  bus.start();
  ASSERT_TRUE(bus.publish(toy_block(0)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(bus.consumers()[0].state, ConsumerState::kWaiting);
  bus.stop();
  EXPECT_EQ(remote.seen, "");
}

TEST(Bus, DamageFoundWhileWaitingHalts) {
  Recorder remote("remote");
  remote.waits = true;
  remote.fail_times = 1;
  remote.away = 1;
  remote.still = Code::kCorrupt;
  Bus bus({.retries = 0, .first_wait_ms = 1});
  bus.add(remote);
  bus.start();
  ASSERT_TRUE(bus.publish(toy_block(0)));
  ASSERT_TRUE(bus.drain());
  while (bus.consumers()[0].state == ConsumerState::kWaiting) std::this_thread::yield();
  EXPECT_EQ(bus.consumers()[0].state, ConsumerState::kHalted);
  EXPECT_EQ(bus.consumers()[0].repair, "rebuild it");
  EXPECT_FALSE(bus.has_recovered());
}

TEST(Bus, WaitsOnlyForUnavailableStores) {
  const std::pair<Code, ConsumerState> cases[] = {{Code::kCorrupt, ConsumerState::kHalted},
                                                  {Code::kConflict, ConsumerState::kHalted},
                                                  {Code::kTimeout, ConsumerState::kWaiting},
                                                  {Code::kUnavailable, ConsumerState::kWaiting}};
  for (const auto& [code, state] : cases) {
    Recorder remote("remote");
    remote.waits = true;
    remote.fail_times = 1;
    remote.failure = code;
    Bus bus({.retries = 0});
    bus.add(remote);
    bus.start();
    ASSERT_TRUE(bus.publish(toy_block(0)));
    ASSERT_TRUE(bus.drain());
    EXPECT_EQ(bus.consumers()[0].state, state) << static_cast<int>(code);
  }
}

TEST(Bus, DetachedBlockHaltsTheConsumer) {
  for (const BlockApplied& wrong : {toy_block(2), toy_block(1, 1, 9)}) {
    Recorder a("a");
    Bus bus;
    bus.add(a);
    bus.start();
    ASSERT_TRUE(bus.publish(toy_block(0)));
    ASSERT_TRUE(bus.publish(wrong));
    ASSERT_TRUE(bus.drain());
    EXPECT_EQ(bus.consumers()[0].state, ConsumerState::kHalted);
    EXPECT_EQ(bus.consumers()[0].problem,
              fmt::format("block at ordinal {} does not follow its own tip, ordinal 0",
                          wrong.ordinal.value));
    EXPECT_EQ(a.seen, "+0 ");
  }
}

TEST(Bus, DetachedBlockAtOriginNamesOrigin) {
  Recorder a("a");
  Bus bus;
  bus.add(a);
  bus.start();
  ASSERT_TRUE(bus.publish(toy_block(1)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(bus.consumers()[0].problem, "block at ordinal 1 does not follow its own tip, Origin");
}

TEST(Bus, FullQueueMakesThePublisherWait) {
  Recorder slow("slow");
  std::promise<void> open;
  slow.gate = open.get_future().share();
  Bus bus({.queue_events = 2});
  bus.add(slow);
  bus.start();
  std::atomic<int> published{0};
  std::thread publisher([&] {
    for (std::uint64_t i = 0; i < 10; ++i) {
      ASSERT_TRUE(bus.publish(toy_block(i)));
      ++published;
      EXPECT_LE(bus.queued_events(), 2u);
    }
  });
  while (published < 3) std::this_thread::yield();  // one in hand, two queued
  EXPECT_LE(published, 3);
  open.set_value();
  publisher.join();
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(slow.position().block_count(), 10u);
}

TEST(Bus, HungConsumerWaitsAndKeepsNobody) {  // E13
  Recorder steady("steady"), remote("remote");
  std::promise<void> answer;
  remote.gate = answer.get_future().share();
  remote.waits = true;
  Bus bus({.queue_events = 2, .first_wait_ms = 1, .patience_ms = 50});
  bus.add(steady), bus.add(remote);
  bus.start();
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(bus.publish(toy_block(i)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(steady.position().block_count(), 10u);
  EXPECT_EQ(bus.consumers()[1].state, ConsumerState::kWaiting);
  EXPECT_EQ(bus.consumers()[1].problem, "has been busy with one event for 50 ms");
  EXPECT_FALSE(bus.has_recovered());
  // What it had in hand is done, and it is fed from there on.
  answer.set_value();
  while (!bus.has_recovered()) std::this_thread::yield();
  bus.resume();
  EXPECT_EQ(bus.lowest_position()->block_count(), 1u);
  for (std::uint64_t i = 1; i < 10; ++i) ASSERT_TRUE(bus.publish(toy_block(i)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(remote.position().block_count(), 10u);
}

TEST(Bus, DrainDoesNotWaitForHungConsumer) {  // E13
  Recorder remote("remote");
  std::promise<void> answer;
  remote.gate = answer.get_future().share();
  remote.waits = true;
  Bus bus({.patience_ms = 50});
  bus.add(remote);
  bus.start();
  ASSERT_TRUE(bus.publish(toy_block(0)));
  ASSERT_TRUE(bus.drain());
  EXPECT_EQ(bus.consumers()[0].state, ConsumerState::kWaiting);
  answer.set_value();
}

TEST(Bus, StopHandlesQueuedEventsAndRefusesMore) {
  Recorder a("a");
  Bus bus;
  bus.add(a);
  bus.start();
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(bus.publish(toy_block(i)));
  bus.stop();
  EXPECT_EQ(a.position().block_count(), 100u);
  EXPECT_EQ(bus.publish(toy_block(100)).error().code, Code::kCancelled);
  EXPECT_EQ(bus.publish_to("nobody", TxDropped{}).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace coffer::bus
