// Consumers with a store of their own beside the data directory: it may be away for a while, or be
// ahead of the headers.
#include <gtest/gtest.h>

#include <thread>

#include <coffer/chain/decode.h>
#include <coffer/follow/follower.h>
#include "base/result.h"
#include "base/temp_dir.h"
#include "base/test_log.h"
#include "support/emitted.h"
#include "support/stores_fixture.h"

namespace coffer::tests {
namespace {

using chain::Family;
using test::emit_until;
using test::Emitted;
using test::Stores;

// A chain of blocks that can be met anywhere on it, and has nothing more for now at its end until
// it is told to end.
class ChainSource final : public feed::Source {
 public:
  ChainSource(const chain::Network& network, std::vector<Bytes> blocks)
      : blocks_(std::move(blocks)) {
    for (const Bytes& raw : blocks_) hashes_.push_back(chain::decode(network, raw).value().hash);
  }
  std::string describe() const override { return "a chain"; }
  Result<chain::Point> intersect(std::span<const chain::Point> points) override {
    for (const chain::Point& point : points)
      for (std::size_t i = 0; i < hashes_.size(); ++i)
        if (hashes_[i] == point.hash) {
          at_ = i + 1;
          return point;
        }
    at_ = 0;
    return chain::Point::origin();
  }
  Result<feed::SourceEvent> next(int) override {
    if (at_ < blocks_.size()) return feed::SourceEvent(feed::NextBlock{blocks_[at_++]});
    if (may_end()) return feed::SourceEvent(feed::End{});
    std::this_thread::yield();
    return feed::SourceEvent(feed::Idle{});
  }
  std::optional<std::uint64_t> tip_number() const override { return blocks_.size() - 1; }
  std::optional<std::uint64_t> pruned_below() const override { return lowest_block; }
  void interrupt() override {}

  std::function<bool()> may_end = [] { return true; };
  std::optional<std::uint64_t> lowest_block;

 private:
  std::vector<Bytes> blocks_;
  std::vector<Hash256> hashes_;
  std::size_t at_ = 0;
};

// A store of its own beside the data directory, as the wallet's database is: knows the blocks it
// has, of which it keeps some.
class Remote final : public bus::Consumer {
 public:
  std::string_view name() const override { return "remote"; }
  bus::Position position() const override {
    std::lock_guard lock(mutex_);
    return position_;
  }
  Result<> on_block(const bus::BlockApplied& block) override {
    if (away > 0) return --away, fail(Error{Code::kUnavailable, true, "away"});
    std::lock_guard lock(mutex_);
    position_ = block.position();
    received.push_back(block.block->hash);
    return {};
  }
  Result<> on_rollback(const bus::RolledBack& rollback) override {
    std::lock_guard lock(mutex_);
    position_ = rollback.to;
    received.resize(rollback.to.block_count());
    ++rollbacks;
    return {};
  }
  bool can_wait() const override { return true; }
  Result<> probe() override {
    if (away > 0) return --away, fail(Error{Code::kUnavailable, true, "away"});
    return {};
  }
  Result<std::optional<bus::Position>> newest_block_below(std::uint64_t below) const override {
    std::lock_guard lock(mutex_);
    for (std::uint64_t at = std::min<std::uint64_t>(below, received.size()); at-- > 0;)
      if (at % keep_every == 0) return bus::Position::after(Ordinal(at), {Slot(at), received[at]});
    return std::nullopt;
  }
  std::string repair() const override { return ""; }

  std::vector<Hash256> received;  // along its chain
  std::uint64_t keep_every = 3;
  std::atomic<int> away{0};
  int rollbacks = 0;

 private:
  mutable std::mutex mutex_;
  bus::Position position_;
};

class FollowRemote : public testing::TestWithParam<Family> {
 protected:
  chain::Network network_ =
      chain::find_network(GetParam() == Family::kBitcoin ? "bitcoin" : "cardano", "devnet").value();
  TempDir a_, b_;

  // Follows the chain into a directory with the remote consumer, until that one has all of it.
  void follow_remote(const std::filesystem::path& path, const std::vector<Bytes>& blocks,
                     Remote& remote) {
    Stores stores(path, network_, 300);
    bus::Bus bus({.retries = 1, .first_pause_ms = 1, .first_wait_ms = 1, .longest_wait_ms = 2});
    bus.add(*stores.totals);
    bus.add(remote);
    bus.start();
    ChainSource source(network_, blocks);
    source.may_end = [&] {
      return remote.position().block_count() == blocks.size() ||
             bus.consumers()[1].state == bus::ConsumerState::kHalted;
    };
    follow::Follower follower(source, network_, *stores.chain, bus,
                              {.retry = {.first_pause_ms = 1}});
    const Result<> done = follower.run();
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_TRUE(bus.drain());
    EXPECT_EQ(bus.consumers()[1].state, bus::ConsumerState::kRunning) << bus.consumers()[1].problem;
    bus.stop();
    EXPECT_EQ(stores.totals->position().block_count(), blocks.size());
    EXPECT_EQ(remote.position(), stores.chain->position());
    for (std::uint64_t at = 0; at < blocks.size(); ++at)
      ASSERT_EQ(remote.received.at(at), stores.chain->at(Ordinal(at)).value()->hash) << at;
    EXPECT_EQ(remote.received.size(), blocks.size());
  }
  std::vector<Bytes> chain_of(std::uint64_t seed, std::size_t blocks) {
    feed::DevnetChain devnet({.family = GetParam(), .seed = seed, .reorg_every = 0});
    return emit_until(devnet, [&](const Emitted& e) { return e.all.size() == blocks; }).best;
  }
};

TEST_P(FollowRemote, WaitingConsumerGetsMissedBlocks) {
  const std::vector<Bytes> chain = chain_of(11, 90);
  Remote remote;
  ASSERT_NO_FATAL_FAILURE(follow_remote(a_.path(), {chain.begin(), chain.begin() + 40}, remote));
  remote.away = 30;  // fails, waits, comes back
  ASSERT_NO_FATAL_FAILURE(follow_remote(a_.path(), chain, remote));
  EXPECT_EQ(remote.away, 0);
  EXPECT_EQ(remote.rollbacks, 0);
}

// A node that prunes goes on deleting while a consumer is away.
TEST_P(FollowRemote, PruningNodeIsWarnedOf) {
  const std::vector<Bytes> chain = chain_of(14, 330);
  for (const std::optional<std::uint64_t> lowest : {std::optional<std::uint64_t>(5), {}}) {
    const TempDir dir;
    Stores stores(dir.path(), network_, 300);
    Remote remote;
    remote.away = 1'000'000;
    bus::Bus bus({.retries = 1, .first_pause_ms = 1, .first_wait_ms = 1, .longest_wait_ms = 2});
    bus.add(*stores.totals);
    bus.add(remote);
    bus.start();
    ChainSource source(network_, chain);
    source.lowest_block = lowest;
    follow::Follower follower(source, network_, *stores.chain, bus, {});
    const LogCapture log;
    ASSERT_TRUE(follower.run());
    bus.stop();
    EXPECT_EQ(log.text().find("not yet applied") != std::string::npos, lowest.has_value());
  }
}

TEST_P(FollowRemote, ConsumerAheadOfTheHeadersWaits) {
  const std::vector<Bytes> chain = chain_of(12, 90);
  Remote remote;
  ASSERT_NO_FATAL_FAILURE(follow_remote(a_.path(), {chain.begin(), chain.begin() + 60}, remote));
  ASSERT_NO_FATAL_FAILURE(follow_remote(b_.path(), chain, remote));  // a new data directory
  EXPECT_EQ(remote.rollbacks, 0);
}

TEST_P(FollowRemote, ConsumerAheadOnOtherBranchRollsBack) {
  // Two chains of one seed that part: the reorg of the longer one takes off what the other has.
  feed::DevnetChain devnet(
      {.family = GetParam(), .seed = 13, .reorg_every = 20, .max_reorg_depth = 12});
  std::vector<Bytes> before;
  const Emitted chain = emit_until(devnet, [&](const Emitted& e) {
    if (e.reorgs == 0) before = e.best;
    return e.reorgs > 0 && e.best.size() > before.size() + 10;
  });
  ASSERT_GT(before.size(), 3u);
  for (const std::size_t headers : {std::size_t{0}, before.size() / 2, before.size() - 1}) {
    const TempDir one, other;
    Remote remote, nobody;
    ASSERT_NO_FATAL_FAILURE(follow_remote(one.path(), before, remote));
    // What the other directory has of the new branch when the consumer comes to it.
    if (headers > 0) {
      ASSERT_NO_FATAL_FAILURE(follow_remote(
          other.path(), {chain.best.begin(), chain.best.begin() + long(headers)}, nobody));
    }
    ASSERT_NO_FATAL_FAILURE(follow_remote(other.path(), chain.best, remote));
    EXPECT_EQ(remote.rollbacks, 1) << headers;
  }
}

// Another process led its store to the sibling of the block where this one believes it stands.
TEST_P(FollowRemote, ConsumerOnSiblingOfItsTipRollsBack) {
  feed::DevnetChain devnet(
      {.family = GetParam(), .seed = 13, .reorg_every = 20, .max_reorg_depth = 12});
  std::vector<Bytes> before;
  const Emitted chain = emit_until(devnet, [&](const Emitted& e) {
    if (e.reorgs == 0) before = e.best;
    return e.reorgs > 0 && e.best.size() > before.size() + 10;
  });
  Remote remote, nobody;
  remote.keep_every = 1;
  ASSERT_NO_FATAL_FAILURE(follow_remote(a_.path(), before, remote));
  const std::vector<Bytes> siblings(chain.best.begin(), chain.best.begin() + long(before.size()));
  ASSERT_NO_FATAL_FAILURE(follow_remote(b_.path(), siblings, nobody));
  ASSERT_NE(remote.received.back(), nobody.received.back());
  remote.received = nobody.received;
  ASSERT_NO_FATAL_FAILURE(follow_remote(b_.path(), chain.best, remote));
  EXPECT_EQ(remote.rollbacks, 1);
}

INSTANTIATE_TEST_SUITE_P(Families, FollowRemote,
                         testing::Values(Family::kBitcoin, Family::kCardano),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace coffer::tests
