#include "codec/wire.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace coffer::codec {
namespace {

TEST(Wire, CompactSizesRoundTripAtTheirEdges) {
  for (std::uint64_t value : {0ull, 1ull, 0xfcull, 0xfdull, 0xffffull, 0x10000ull, 0xffffffffull,
                              0x100000000ull, ~0ull}) {
    Bytes out;
    append_compact_size(out, value);
    WireReader reader(out);
    EXPECT_EQ(reader.compact_size(), value);
    EXPECT_TRUE(reader.ok() && reader.at_end());
  }
}

TEST(Wire, RefusesSizesThatAreNotShortest) {
  for (const char* text : {"fdfc00", "feffff0000", "ffffffffff00000000"}) {
    const Bytes data = from_hex(text).value();
    WireReader reader(data);
    EXPECT_EQ(reader.compact_size(), 0u);
    ASSERT_FALSE(reader.ok());
    EXPECT_EQ(reader.fault().to_error("tx").message,
              "tx: a size that is not in its shortest form at byte 0");
  }
}

TEST(Wire, FaultsStickAndNameThePosition) {
  const Bytes data = from_hex("0102030405").value();
  WireReader reader(data);
  EXPECT_EQ(reader.u32(), 0x04030201u);
  EXPECT_EQ(reader.u32(), 0u);
  EXPECT_EQ(reader.fault().at, 5u);
  EXPECT_EQ(reader.u8(), 0u);  // though one byte is left
  EXPECT_TRUE(reader.bytes(1).empty());
}

TEST(Wire, CountsBeyondTheInputAreRefused) {
  const Bytes data = from_hex("fe00000001aabbcc").value();
  WireReader reader(data);
  EXPECT_EQ(reader.count(41, "more inputs than the input can hold"), 0u);
  EXPECT_STREQ(reader.fault().what, "more inputs than the input can hold");
}

}  // namespace
}  // namespace coffer::codec
