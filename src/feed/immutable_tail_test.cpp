// The last chunk of the immutable database: cut off, being written, or both.
#include <fstream>

#include "base/random.h"
#include "feed/immutable_test_util.h"

namespace coffer::feed {
namespace {

TEST(Immutable, CutOffLastChunkIsTheTip) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "cardano/pallas");
  const SmallChunk whole = first_blocks(data, 12);
  const chain::Network net = network("preprod");
  TempDir dir;
  whole.write(dir.path());
  const Walked all = walk_all(dir.path(), net);
  ASSERT_EQ(all.points.size(), 12u);
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int i = 0; i < 200; ++i) {
    SmallChunk cut = whole;
    cut.chunk.resize(rng.below(cut.chunk.size()));
    std::size_t held = 0;  // blocks that are whole
    for (std::size_t next = 1; next <= 12; ++next) {
      const std::uint64_t end =
          next == 12 ? whole.chunk.size() : load_be64(whole.secondary.data() + 56 * next);
      if (end <= cut.chunk.size()) held = next;
    }
    TempDir one;
    cut.write(one.path());
    const Walked part = walk_all(one.path(), net);
    ASSERT_FALSE(part.error) << part.error->message;
    ASSERT_EQ(part.points.size(), held) << "cut at " << cut.chunk.size();
    ASSERT_TRUE(is_prefix(part, all));
    // The same damage below another chunk is an error.
    SmallChunk{{1, 0, 0, 0, 0}, {}, {}}.write(one.path(), "00001");
    const Walked inner = walk_all(one.path(), net);
    ASSERT_TRUE(inner.error) << "cut at " << cut.chunk.size();
    ASSERT_EQ(inner.error->code, Code::kCorrupt);
    ASSERT_NE(inner.error->message.find("00000.chunk"), std::string::npos) << inner.error->message;
  }
  for (int i = 0; i < 200; ++i) {  // the indexes cut off, as if the node had just written a block
    SmallChunk cut = whole;
    Bytes& index = i % 2 == 0 ? cut.primary : cut.secondary;
    index.resize(rng.below(index.size()));
    cut.write(dir.path());
    const Walked part = walk_all(dir.path(), net);
    ASSERT_TRUE(is_prefix(part, all));
    // A node writes one entry at a time, so at most one can be missing.
    const bool may_be = i % 2 == 0 || cut.secondary.size() >= 11 * kSecondaryEntryBytes;
    ASSERT_EQ(part.error.has_value(), !may_be);
    if (part.error) {
      ASSERT_EQ(part.error->code, Code::kCorrupt);
    } else if (i % 2 != 0) {
      ASSERT_EQ(part.points.size(), 11u);
    }
  }
}

TEST(Immutable, SecondaryShortOfAnEntryIsTheTipUntilItIsThere) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "cardano/pallas");
  const SmallChunk whole = first_blocks(data, 12);
  TempDir dir;
  SmallChunk cut = whole;
  cut.secondary.resize(11 * kSecondaryEntryBytes);
  cut.write(dir.path());
  ImmutableSource source(
      {.directory = dir.path(), .network = network("preprod"), .follow = true, .look_every_ms = 1});
  ASSERT_TRUE(source.intersect({}).value().is_origin());
  const auto blocks = [&] {
    std::size_t count = 0;
    for (;;) {
      auto step = source.next(0);
      EXPECT_TRUE(step) << step.error().message;
      if (!step || std::holds_alternative<Idle>(*step)) return count;
      count += std::holds_alternative<NextBlock>(*step) ? 1 : 0;
    }
  };
  EXPECT_EQ(blocks(), 11u);
  const auto tip = source.tip_number();
  whole.write(dir.path());
  EXPECT_EQ(blocks(), 1u);
  EXPECT_EQ(source.tip_number(), *tip + 1);
  // Below another chunk it is damage.
  cut.write(dir.path());
  SmallChunk{{1, 0, 0, 0, 0}, {}, {}}.write(dir.path(), "00001");
  EXPECT_EQ(walk_all(dir.path(), network("preprod")).error->code, Code::kCorrupt);
}

TEST(Immutable, GrowthIsFollowedInTheOrderOfTheNodesWriting) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "cardano/pallas");
  const SmallChunk before = first_blocks(data, 3), after = first_blocks(data, 5);
  const chain::Network net = network("preprod");
  TempDir dir;
  before.write(dir.path());
  ImmutableSource source(
      {.directory = dir.path(), .network = net, .follow = true, .look_every_ms = 1});
  ASSERT_TRUE(source.intersect({}));
  EXPECT_EQ(walk(source, net).points.size(), 3u);
  const auto put = [&](const char* name, ByteView bytes) {
    std::ofstream(dir.path() / name, std::ios::binary) << as_text(bytes);
  };
  // Half a block, then all of it; its entry; its place.
  put("00000.chunk", ByteView(after.chunk).first(before.chunk.size() + 100));
  EXPECT_TRUE(std::holds_alternative<Idle>(source.next(5).value()));
  put("00000.chunk", after.chunk);
  put("00000.secondary", ByteView(after.secondary).first(3 * 56 + 20));
  EXPECT_TRUE(std::holds_alternative<Idle>(source.next(5).value()));
  put("00000.secondary", after.secondary);
  EXPECT_TRUE(std::holds_alternative<Idle>(source.next(5).value()));
  put("00000.primary", after.primary);
  EXPECT_EQ(walk(source, net).points.size(), 2u);
  SmallChunk{{1, 0, 0, 0, 0}, {}, {}}.write(dir.path(), "00001");
  EXPECT_TRUE(std::holds_alternative<Idle>(source.next(5).value()));
  std::thread stopper([&] { source.interrupt(); });
  const auto stopped = source.next(60'000);
  stopper.join();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
}

}  // namespace
}  // namespace coffer::feed
