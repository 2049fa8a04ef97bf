#include "crypto/blake2b.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "crypto/crc32.h"

namespace coffer::crypto {
namespace {

// Digests from Python's hashlib.blake2b(…, digest_size=…).
TEST(Blake2b, KnownAnswers) {
  EXPECT_EQ(blake2b_256({}).hex(),
            "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(blake2b_256(as_bytes("abc")).hex(),
            "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  EXPECT_EQ(blake2b_224({}).hex(), "836cc68931c2e4e3e838602eca1902591d216837bafddfe6f0c8cb07");
  EXPECT_EQ(blake2b_224(as_bytes("abc")).hex(),
            "9bd237b02a29e43bdd6738afa5b53ff0eee178d6210b618e4511aec8");
  EXPECT_EQ(blake2b_256(Bytes(1000, 'a')).hex(),
            "e00b0ddbf1e2cdaf5c898e1a5e8826ea3a2c339bcf2a478da2e5fca9ff126672");
}

TEST(Blake2b, AnySplitGivesTheSame) {
  Rng rng(1);
  Blake2b256 hasher;
  for (int round = 0; round < 500; ++round) {
    Bytes data(rng.below(600));
    rng.fill(data);
    for (ByteView rest = data; !rest.empty();) {
      const std::size_t take = std::min<std::size_t>(rest.size(), rng.below(200));
      hasher.update(rest.first(take));
      rest = rest.subspan(take);
    }
    ASSERT_EQ(hasher.finish(), blake2b_256(data)) << round;
  }
}

// The check value of the CRC catalogue, and zlib's own for the rest.
TEST(Crc32, KnownAnswers) {
  EXPECT_EQ(crc32({}), 0u);
  EXPECT_EQ(crc32(as_bytes("123456789")), 0xCBF43926u);
  EXPECT_EQ(crc32(as_bytes("The quick brown fox jumps over the lazy dog")), 0x414FA339u);
  EXPECT_EQ(crc32(as_bytes("6789"), crc32(as_bytes("12345"))), 0xCBF43926u);
}

}  // namespace
}  // namespace coffer::crypto
