// The whole flow in one process: source, chain state, bus, consumers; reorgs, replays, stragglers.
#include <coffer/follow/follower.h>

#include <gtest/gtest.h>

#include "base/random.h"
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

// Serves a fixed list of blocks as they stand, stale branches and all.
class ListSource final : public feed::Source {
 public:
  explicit ListSource(std::vector<Bytes> blocks, std::uint64_t tip = 0)
      : blocks_(std::move(blocks)), tip_(tip) {}
  std::string describe() const override { return "a list"; }
  Result<chain::Point> intersect(std::span<const chain::Point> points) override {
    return points.empty() ? chain::Point::origin() : points.front();  // the test gives what follows
  }
  Result<feed::SourceEvent> next(int) override {
    if (repeat_last && at_ == blocks_.size()) --at_;
    if (at_ == blocks_.size()) return feed::SourceEvent(feed::End{});
    if (fail_at == at_ && fail_times > 0) {
      --fail_times;
      return fail(Error{Code::kUnavailable, true, "cable pulled"});
    }
    return feed::SourceEvent(feed::NextBlock{blocks_[at_++]});
  }
  std::optional<std::uint64_t> tip_number() const override { return tip_; }
  void interrupt() override {}

  bool repeat_last = false;  // asked again, it says the same
  std::size_t fail_at = ~std::size_t{0};
  int fail_times = 0;

 private:
  std::vector<Bytes> blocks_;
  std::size_t at_ = 0;
  std::uint64_t tip_;
};

class Follow : public testing::TestWithParam<Family> {
 protected:
  chain::Network network_ =
      chain::find_network(GetParam() == Family::kBitcoin ? "bitcoin" : "cardano", "devnet").value();

  // Follows the blocks with the consumers asked for.
  Result<> follow(const std::filesystem::path& path, feed::Source& source, bool with_totals = true,
                  std::uint64_t window = 300) {
    Stores stores(path, network_, window);
    bus::Bus bus;
    if (with_totals) bus.add(*stores.totals);
    bus.add(*stores.events);
    bus.add(*stores.utxo);
    bus.start();
    follow::Follower follower(source, network_, *stores.chain, bus,
                              {.retry = {.first_pause_ms = 1}});
    Result<> done = follower.run();
    infos_ = bus.consumers();
    if (done) {
      EXPECT_TRUE(bus.drain());
    }
    infos_ = bus.consumers();
    bus.stop();
    missing_inputs_ = stores.utxo->state().stats().value().missing_inputs;
    return done;
  }
  Result<> follow(const std::filesystem::path& path, std::vector<Bytes> blocks,
                  bool with_totals = true, std::uint64_t window = 300) {
    ListSource source(std::move(blocks));
    return follow(path, source, with_totals, window);
  }
  struct End {
    Hash256 chain, totals;
    std::uint64_t totals_height, events_height;
    utxo::Digest utxo;
    friend bool operator==(const End&, const End&) = default;
  };
  End end_of(const std::filesystem::path& path, std::uint64_t window = 300) {
    Stores stores(path, network_, window);
    EXPECT_TRUE(stores.chain->verify());
    return {stores.chain->digest().value(), stores.totals->current().digest,
            stores.totals->position().block_count(), stores.events->position().block_count(),
            utxo::digest(stores.utxo->state(), network_.family).value()};
  }
  std::vector<bus::ConsumerInfo> infos_;
  std::uint64_t missing_inputs_ = 0;
  TempDir a_, b_;
};

TEST_P(Follow, TwoHundredReorgsEndAsTheStraightChain) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  feed::DevnetChain devnet({.family = GetParam(),
                            .seed = seed,
                            .txs_per_block = 5,
                            .reorg_every = 4,
                            .max_reorg_depth = 150});
  const Emitted chain =
      emit_until(devnet, [](const Emitted& e) { return e.reorgs == 200 && e.best.size() > 10; });
  ASSERT_TRUE(follow(a_.path(), chain.all));
  ASSERT_TRUE(follow(b_.path(), chain.best));
  const End reorganised = end_of(a_.path()), straight = end_of(b_.path());
  EXPECT_EQ(reorganised, straight);
  EXPECT_EQ(straight.totals_height, chain.best.size());
  EXPECT_EQ(missing_inputs_, 0u);
  EXPECT_GT(straight.utxo.count, 0u);
}

TEST_P(Follow, DeliveredTwiceChangesNothing) {  // E3
  feed::DevnetChain devnet({.family = GetParam(), .seed = 2, .reorg_every = 0});
  const Emitted chain = emit_until(devnet, [](const Emitted& e) { return e.all.size() == 60; });
  ASSERT_TRUE(follow(a_.path(), chain.best));
  const End once = end_of(a_.path());
  ASSERT_TRUE(follow(a_.path(), chain.best));
  EXPECT_EQ(end_of(a_.path()), once);
}

TEST_P(Follow, ConsumerBehindGetsItsBlocksAgain) {  // E10
  feed::DevnetChain devnet({.family = GetParam(), .seed = 3, .reorg_every = 6});
  const Emitted chain = emit_until(devnet, [](const Emitted& e) { return e.all.size() == 100; });
  ASSERT_TRUE(follow(a_.path(), chain.all, false));
  EXPECT_EQ(end_of(a_.path()).totals_height, 0u);
  ASSERT_TRUE(follow(a_.path(), chain.best, true));
  ASSERT_TRUE(follow(b_.path(), chain.best, true));
  EXPECT_EQ(end_of(a_.path()), end_of(b_.path()));
}

// The chain's blocks up to some height, then another branch on top of an earlier one.
struct Fork {
  std::vector<Bytes> trunk, left, right;
};
Fork make_fork(Family family, std::size_t trunk, std::size_t left, std::size_t right) {
  Fork fork;
  auto flavour =
      family == Family::kBitcoin ? feed::make_bitcoin_flavour() : feed::make_cardano_flavour();
  Hash256 tip{};
  std::uint64_t nonce = 1;
  auto block = [&](std::uint64_t height, const Hash256& prev) {
    if (height == 0 && family == Family::kBitcoin) return *flavour->genesis_block();
    return flavour->build_block({.height = height,
                                 .prev = prev,
                                 .unix_s = 1'600'000'000 + height,
                                 .slot = 20 * height,
                                 .nonce = nonce++,
                                 .owner = 0,
                                 .txs = {}});
  };
  auto grow = [&](std::vector<Bytes>& to, std::uint64_t from, std::size_t count, Hash256 prev) {
    for (std::size_t i = 0; i < count; ++i) {
      feed::BuiltBlock built = block(from + i, prev);
      prev = built.hash;
      to.push_back(std::move(built.raw));
    }
    return prev;
  };
  tip = grow(fork.trunk, 0, trunk, tip);
  grow(fork.left, trunk, left, tip);
  grow(fork.right, trunk, right, tip);
  return fork;
}
std::vector<Bytes> joined(std::vector<Bytes> first, const std::vector<Bytes>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST_P(Follow, ConsumerOnStaleBranchIsRolledBack) {  // E10
  const Fork fork = make_fork(GetParam(), 20, 5, 9);
  ASSERT_TRUE(
      follow(a_.path(), joined(fork.trunk, fork.left), true));  // totals stands on the left branch
  ASSERT_TRUE(follow(a_.path(), fork.right, false));            // the chain goes right without it
  EXPECT_EQ(end_of(a_.path()).totals_height, 25u);
  ASSERT_TRUE(follow(a_.path(), joined(fork.trunk, fork.right), true));
  ASSERT_TRUE(follow(b_.path(), joined(fork.trunk, fork.right), true));
  EXPECT_EQ(end_of(a_.path()), end_of(b_.path()));
}

TEST_P(Follow, FailingConsumerHaltsAloneAndIsNamed) {  // E10, U2
  const std::uint64_t window = 4;
  const Fork fork = make_fork(GetParam(), 20, 12, 30);
  ASSERT_TRUE(follow(a_.path(), joined(fork.trunk, fork.left), true, window));
  ASSERT_TRUE(follow(a_.path(), fork.right, true, window));  // twelve blocks back, four are kept
  ASSERT_EQ(infos_.size(), 3u);
  EXPECT_EQ(infos_[0].name, "totals");
  EXPECT_EQ(infos_[0].state, bus::ConsumerState::kHalted);
  EXPECT_NE(infos_[0].problem.find("no longer kept"), std::string::npos);
  EXPECT_NE(infos_[0].repair.find("rebuild"), std::string::npos);
  EXPECT_EQ(infos_[1].state, bus::ConsumerState::kRunning);
  EXPECT_EQ(end_of(a_.path(), window).events_height, 50u);
  // By the next start its branch is forgotten: it is still named, and still alone.
  ASSERT_TRUE(follow(a_.path(), {}, true, window));
  EXPECT_EQ(infos_[0].state, bus::ConsumerState::kHalted);
  EXPECT_NE(infos_[0].problem.find("on no branch"), std::string::npos) << infos_[0].problem;
}

TEST_P(Follow, RollbackIsLoggedWithNewTipHeight) {
  const Fork fork = make_fork(GetParam(), 20, 2, 3);
  const LogCapture captured;
  const Result<> done = follow(a_.path(), joined(joined(fork.trunk, fork.left), fork.right));
  const std::string logged = captured.text();
  ASSERT_TRUE(done);
  // Twenty blocks are left, the newest at height 19.
  EXPECT_NE(logged.find(" rolled back to_height=19 "), std::string::npos) << logged;
}

// Only Cardano's simulated chain has no fixed first block.
TEST(FollowOrigin, RollbackToOriginIsLoggedWithoutHeight) {
  const chain::Network network = chain::find_network("cardano", "devnet").value();
  const Fork fork = make_fork(Family::kCardano, 0, 2, 3);
  TempDir dir;
  Stores stores(dir.path(), network, 300);
  bus::Bus bus;
  bus.add(*stores.events);
  bus.start();
  ListSource source(joined(fork.left, fork.right));
  const LogCapture captured;
  const Result<> done = follow::Follower(source, network, *stores.chain, bus).run();
  const std::string logged = captured.text();
  bus.stop();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_NE(logged.find(" rolled back to_height=null "), std::string::npos) << logged;
}

TEST_P(Follow, LostSourceIsReconnected) {
  const Fork fork = make_fork(GetParam(), 20, 0, 0);
  ListSource source(fork.trunk);
  source.fail_at = 7;
  source.fail_times = 3;
  ASSERT_TRUE(follow(a_.path(), source));
  EXPECT_EQ(end_of(a_.path()).totals_height, 20u);
}

TEST_P(Follow, DamagedBlockIsRequestedAgain) {  // E14
  const Fork fork = make_fork(GetParam(), 20, 0, 0);
  Bytes damaged = fork.trunk[15];
  damaged.back() ^= 1;
  std::vector<Bytes> blocks = fork.trunk;
  blocks.insert(blocks.begin() + 15, damaged);  // and the right one after it
  ASSERT_TRUE(follow(a_.path(), blocks));
  EXPECT_EQ(end_of(a_.path()).totals_height, 20u);
}

TEST_P(Follow, ForeignOrDamagedBlockStopsAndLosesNothing) {
  Fork fork = make_fork(GetParam(), 20, 0, 0);
  Bytes damaged = fork.trunk[15];
  damaged.back() ^= 1;
  std::vector<Bytes> blocks(fork.trunk.begin(), fork.trunk.begin() + 15);
  blocks.push_back(damaged);
  ListSource source(blocks);
  source.repeat_last = true;
  const Result<> stopped = follow(a_.path(), source);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kInvalidInput) << stopped.error().message;
  EXPECT_EQ(end_of(a_.path()).totals_height, 15u);
  // A block of nowhere, right after the meeting.
  const Fork other = make_fork(GetParam(), 30, 0, 0);
  ListSource stray({other.trunk[29]});
  stray.repeat_last = true;
  const Result<> nowhere = follow(a_.path(), stray);
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().message.find("follows no block that is known"), std::string::npos);
  ASSERT_TRUE(follow(a_.path(), {fork.trunk.begin() + 15, fork.trunk.end()}));
  EXPECT_EQ(end_of(a_.path()).totals_height, 20u);
}

INSTANTIATE_TEST_SUITE_P(Families, Follow, testing::Values(Family::kBitcoin, Family::kCardano),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace coffer::tests
