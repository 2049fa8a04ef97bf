#include "crypto/sha256.h"

#include <gtest/gtest.h>
#include <openssl/sha.h>

#include "base/random.h"

namespace coffer::crypto {

std::ostream& operator<<(std::ostream& out, Sha256Impl impl) {
  return out << (impl == Sha256Impl::kPortable ? "Portable" : "ShaNi");
}

namespace {

Hash256 openssl_sha256(ByteView data) {
  Hash256 digest;
  SHA256(data.data(), data.size(), digest.data());
  return digest;
}

Bytes random_bytes(Rng& rng, std::size_t size) {
  Bytes bytes(size);
  rng.fill(bytes);
  return bytes;
}

// Every test runs with each implementation that this processor has.
class Sha256Test : public testing::TestWithParam<Sha256Impl> {
 protected:
  void SetUp() override {
    if (!sha256_available(GetParam())) GTEST_SKIP() << "this processor has no SHA instructions";
    sha256_force(GetParam());
  }
  void TearDown() override { sha256_force(std::nullopt); }
};

TEST_P(Sha256Test, KnownAnswers) {
  EXPECT_EQ(sha256_active(), GetParam() == Sha256Impl::kPortable ? "portable" : "sha-ni");
  EXPECT_EQ(sha256({}).hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(as_bytes("abc")).hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")).hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(Bytes(1'000'000, 'a')).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256d(as_bytes("hello")).hex(),
            "9595c9df90075148eb06860365df33584b75bff782a510c6cd4883a419833d50");
}

TEST_P(Sha256Test, GenesisBlockOfBitcoin) {
  const Bytes header = *from_hex(
      "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac7"
      "2c3e"
      "67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c");
  EXPECT_EQ(reversed(sha256d(header)).hex(),
            "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f");
}

TEST_P(Sha256Test, EveryLengthAgreesWithOpenSsl) {
  Rng rng(1);
  const Bytes data = random_bytes(rng, 1101);
  for (std::size_t size = 0; size <= 1100; ++size) {
    // The odd start makes every access unaligned.
    const ByteView view = ByteView(data).subspan(1, size);
    const Hash256 once = openssl_sha256(view);
    ASSERT_EQ(sha256(view), once) << size;
    ASSERT_EQ(sha256d(view), openssl_sha256(once.view())) << size;
  }
}

TEST_P(Sha256Test, AnySplitGivesTheSame) {
  Rng rng(2);
  Sha256 hasher;
  for (int round = 0; round < 2000; ++round) {
    const Bytes data = random_bytes(rng, rng.below(1101));
    for (ByteView rest = data; !rest.empty();) {
      const std::size_t take = std::min<std::size_t>(rest.size(), rng.below(200));
      hasher.update(rest.first(take));
      rest = rest.subspan(take);
    }
    const Hash256 once = openssl_sha256(data);
    if (rng.one_in(2))
      ASSERT_EQ(hasher.finish(), once) << round;
    else
      ASSERT_EQ(hasher.finish_double(), openssl_sha256(once.view())) << round;
  }
}

TEST_P(Sha256Test, PairsAgreeAlsoInPlace) {
  Rng rng(3);
  for (std::size_t pairs = 0; pairs <= 33; ++pairs) {
    Bytes in = random_bytes(rng, 64 * pairs);
    Bytes expected;
    for (std::size_t i = 0; i < pairs; ++i)
      append(expected,
             openssl_sha256(openssl_sha256(ByteView(in).subspan(64 * i, 64)).view()).view());
    Bytes out(32 * pairs);
    sha256d_pairs(out.data(), in.data(), pairs);
    ASSERT_EQ(out, expected) << pairs;
    sha256d_pairs(in.data(), in.data(), pairs);
    in.resize(32 * pairs);
    ASSERT_EQ(in, expected) << pairs << " in place";
  }
}

INSTANTIATE_TEST_SUITE_P(All, Sha256Test,
                         testing::Values(Sha256Impl::kPortable, Sha256Impl::kShaNi),
                         testing::PrintToStringParamName());

TEST(Sha256Choice, FastestIsTheDefault) {
  EXPECT_TRUE(sha256_available(Sha256Impl::kPortable));
  EXPECT_EQ(sha256_active(), sha256_available(Sha256Impl::kShaNi) ? "sha-ni" : "portable");
}

}  // namespace
}  // namespace coffer::crypto
