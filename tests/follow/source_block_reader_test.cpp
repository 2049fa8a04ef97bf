#include "follow/source_block_reader.h"

#include <gtest/gtest.h>

#include <coffer/chain/decode.h>
#include <deque>

#include "base/random.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "support/chain_builder.h"

namespace coffer::tests {
namespace {

using chain::Family;

constexpr std::uint64_t kTip = 20;

// A chain whose holder may change it at any time. Events of `first` come before the next block.
struct ServedChain {
  std::vector<Bytes> blocks;
  std::vector<Hash256> hashes;
  std::deque<feed::SourceEvent> first;
  int intersections = 0;
  int idle = 0;
  bool ends = false;
  std::optional<std::uint64_t> claims;  // its tip, whatever it has
  bool interrupted = false;
};

class ServedSource final : public feed::Source {
 public:
  explicit ServedSource(ServedChain& chain) : chain_(chain) {}
  std::string describe() const override { return "the test"; }
  Result<chain::Point> intersect(std::span<const chain::Point> points) override {
    ++chain_.intersections;
    for (const chain::Point& point : points) {
      const auto found = std::ranges::find(chain_.hashes, point.hash);
      if (found == chain_.hashes.end()) continue;
      at_ = static_cast<std::size_t>(found - chain_.hashes.begin()) + 1;
      return point;
    }
    at_ = 0;
    return chain::Point::origin();
  }
  Result<feed::SourceEvent> next(int) override {
    if (chain_.interrupted) return fail(Code::kCancelled, "stopping");
    if (!chain_.first.empty()) {
      feed::SourceEvent event = std::move(chain_.first.front());
      chain_.first.pop_front();
      return event;
    }
    if (at_ < chain_.blocks.size()) return feed::SourceEvent(feed::NextBlock{chain_.blocks[at_++]});
    ++chain_.idle;
    return chain_.ends ? feed::SourceEvent(feed::End{}) : feed::SourceEvent(feed::Idle{});
  }
  std::optional<std::uint64_t> tip_number() const override {
    return chain_.claims.value_or(chain_.blocks.size() - 1);
  }
  void interrupt() override { chain_.interrupted = true; }

 private:
  ServedChain& chain_;
  std::size_t at_ = 0;
};

class SourceBlocks : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    builder_.mine(kTip - builder_.height());
    db_ = kv::Database::open({.path = dir_.path(), .columns = chainstate::ChainState::columns()})
              .value();
    chain_ = chainstate::ChainState::open(*db_, network_, chainstate::Identity::of(network_), 100)
                 .value();
    for (const Bytes& raw : builder_.blocks()) {
      chain::Block block = chain::decode(network_, raw).value();
      ASSERT_TRUE(chain_->connect(block, chain_->place(block).value()));
    }
    serve();
    reader_.emplace(std::make_unique<ServedSource>(served_), network_, *chain_);
  }
  // The source has what the builder has now.
  void serve() {
    served_.blocks = builder_.blocks();
    served_.hashes = builder_.hashes();
  }
  void expect_block(std::uint64_t height) {
    SCOPED_TRACE(height);
    const auto block = reader_->read(height);
    ASSERT_TRUE(block) << block.error().message;
    const auto header = chain_->at(Ordinal(height)).value();
    EXPECT_EQ(block->hash, header->hash);
    EXPECT_EQ(block->number, header->number);
    EXPECT_EQ(block->slot, header->slot);
  }
  void expect_error(std::uint64_t height, Code code, bool retryable, const std::string& text) {
    SCOPED_TRACE(height);
    const auto block = reader_->read(height);
    ASSERT_FALSE(block);
    EXPECT_EQ(block.error().code, code) << block.error().message;
    EXPECT_EQ(block.error().retryable, retryable);
    EXPECT_NE(block.error().message.find(text), std::string::npos) << block.error().message;
  }

  const chain::Network network_ =
      chain::find_network(GetParam() == Family::kBitcoin ? "bitcoin" : "cardano", "devnet").value();
  TempDir dir_;
  test::ChainBuilder builder_{GetParam()};
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<chainstate::ChainState> chain_;
  ServedChain served_;
  std::optional<follow::SourceBlockReader> reader_;
};

TEST_P(SourceBlocks, AnyHeightInAnyOrder) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  expect_block(0);
  expect_block(kTip);
  for (int i = 0; i < 100; ++i) expect_block(rng.below(kTip + 1));
}

// It went back, say, and still says the height that it had.
TEST_P(SourceBlocks, SourceThatIsBehindWhatItSaysIsNotWaitedForForEver) {
  served_.blocks.resize(kTip - 5);
  served_.claims = kTip;
  expect_block(kTip - 6);
  expect_error(kTip - 5, Code::kUnavailable, true, "but does not give block 15");
  EXPECT_LE(served_.idle, 200);
  // The way it was: it goes on.
  serve();
  expect_block(kTip - 5);
}

TEST_P(SourceBlocks, HeightAfterTheLastAsksForNoIntersection) {
  for (const std::uint64_t height : {5, 6, 7}) expect_block(height);
  EXPECT_EQ(served_.intersections, 1);
  expect_block(7);
  EXPECT_EQ(served_.intersections, 2);
  expect_block(8);
  EXPECT_EQ(served_.intersections, 2);
}

TEST_P(SourceBlocks, EventsBesideBlocksArePassedOver) {
  served_.first = {feed::MempoolAdded{{1, 2, 3}}, feed::MempoolRemoved{},
                   feed::RolledBack{{Slot(0), builder_.hashes()[3]}}, feed::Idle{}};
  expect_block(4);
  EXPECT_TRUE(served_.first.empty());
}

TEST_P(SourceBlocks, AboveTheTipIsNotFound) {
  builder_.mine(5);  // the source is ahead of the chain
  serve();
  expect_error(kTip + 2, Code::kNotFound, false, "is not on the chain");
  expect_error(kTip + 1, Code::kConflict, false, "is not on the chain");
  expect_block(kTip);
}

TEST_P(SourceBlocks, ShorterSourceCanBeAskedAgain) {
  served_.blocks.resize(11), served_.hashes.resize(11);
  expect_block(10);
  expect_error(11, Code::kUnavailable, true, "is at block 10 and does not have block 11 now");
  expect_error(15, Code::kUnavailable, true, "does not have block 15 any more");
  serve();
  expect_block(15);
}

TEST_P(SourceBlocks, SourceThatEndsIsUnavailable) {
  served_.blocks.resize(11), served_.hashes.resize(11), served_.ends = true;
  expect_error(11, Code::kUnavailable, true, "the test ended before block 11");
}

// A block of another branch is never returned as the block of a height.
TEST_P(SourceBlocks, BlocksOfAnotherBranchAreRefused) {
  expect_block(11);
  builder_.go_back_to(11);
  builder_.mine(kTip - 11);
  serve();
  expect_error(12, Code::kConflict, false, "is not on the chain");
  expect_error(13, Code::kUnavailable, true, "does not have block 13 any more");
  expect_block(11);  // both have it
}

TEST_P(SourceBlocks, InterruptEndsReading) {
  expect_block(3);
  reader_->interrupt();
  expect_error(4, Code::kCancelled, true, "stopping");
  expect_error(7, Code::kCancelled, true, "stopping");
}

INSTANTIATE_TEST_SUITE_P(Families, SourceBlocks,
                         testing::Values(Family::kBitcoin, Family::kCardano),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace coffer::tests
