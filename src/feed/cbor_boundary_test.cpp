#include "feed/cbor_boundary.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"

namespace coffer::feed {
namespace {

Bytes hex(const std::string& text) {
  return from_hex(text).value();
}

TEST(CborBoundary, EndsWhereTheItemEnds) {
  for (const char* item : {"00",       "17",         "1818",       "190100",   "1b0000000000000001",
                           "20",       "40",         "4161",       "60",       "6161",
                           "80",       "8101",       "820180",     "a0",       "a10102",
                           "c100",     "d8184101",   "f4",         "f6",       "f97e00",
                           "9fff",     "9f01ff",     "bfff",       "bf0102ff", "5fff",
                           "5f4101ff", "7f616140ff", "8281818001", "c1c2c300"}) {
    const Bytes whole = hex(item);
    CborBoundary boundary;
    if (std::string(item) == "7f616140ff") {
      boundary.feed(whole);
      EXPECT_NE(boundary.fault(), nullptr) << "bytes within a text";
      continue;
    }
    Bytes longer = whole;
    longer.push_back(0);
    EXPECT_EQ(boundary.feed(longer), whole.size()) << item;
    EXPECT_TRUE(boundary.done()) << item;
    // The same, byte by byte.
    boundary.reset();
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_FALSE(boundary.done()) << item;
      EXPECT_EQ(boundary.feed(ByteView(whole).subspan(i, 1)), 1u);
    }
    EXPECT_TRUE(boundary.done()) << item;
  }
}

TEST(CborBoundary, RefusesMalformedItems) {
  for (const char* bad : {"1c", "fc", "ff", "81ff", "bf01ff", "1f", "3f", "df", "5f01", "5f5fff"}) {
    CborBoundary boundary;
    boundary.feed(hex(bad));
    EXPECT_NE(boundary.fault(), nullptr) << bad;
    EXPECT_FALSE(boundary.done()) << bad;
  }
  CborBoundary deep;
  deep.feed(Bytes(CborBoundary::kMaxDepth, 0x81));
  EXPECT_EQ(deep.fault(), nullptr);
  deep.feed(Bytes(1, 0x81));
  EXPECT_NE(deep.fault(), nullptr);
}

// Whatever the bytes are, the reader takes the same as one item, or finds fault as well.
TEST(CborBoundary, AgreesWithTheReader) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  int whole = 0;
  for (int i = 0; i < 100'000; ++i) {
    Bytes bytes(rng.between(1, 12));
    // Heads with small lengths, so that many of them become items.
    for (std::uint8_t& byte : bytes)
      byte = static_cast<std::uint8_t>(rng.below(8) << 5 | (rng.one_in(4) ? 31 : rng.below(4)));
    codec::CborReader reader(bytes);
    const std::size_t size = reader.skip().size();
    CborBoundary boundary;
    std::size_t used = 0;
    while (used < bytes.size() && !boundary.done() && boundary.fault() == nullptr)
      used += boundary.feed(ByteView(bytes).subspan(
          used, std::min<std::size_t>(bytes.size() - used, rng.between(1, 4))));
    ASSERT_EQ(boundary.done(), reader.ok()) << to_hex(bytes);
    if (!reader.ok()) continue;
    ++whole;
    ASSERT_EQ(used, size) << to_hex(bytes);
  }
  EXPECT_GT(whole, 10'000);
}

}  // namespace
}  // namespace coffer::feed
