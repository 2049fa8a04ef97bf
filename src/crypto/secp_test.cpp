#include "crypto/secp.h"

#include <gtest/gtest.h>

namespace coffer::crypto {
namespace {

// The generator of the group, in both forms.
constexpr std::string_view kCompressed =
    "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
constexpr std::string_view kWhole =
    "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
    "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8";
constexpr std::string_view kTwice =
    "02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5";

Bytes hex(std::string_view text) {
  return from_hex(text).value();
}

Hash256 number(std::uint8_t low) {
  Hash256 out{};
  out.back() = low;
  return out;
}

TEST(Secp, CompressesKeys) {
  EXPECT_EQ(parse_public_key(hex(kCompressed)).value().hex(), kCompressed);
  EXPECT_EQ(parse_public_key(hex(kWhole)).value().hex(), kCompressed);
  EXPECT_EQ(x_only(parse_public_key(hex(kWhole)).value()).hex(), kCompressed.substr(2));
}

TEST(Secp, RefusesWhatIsNoKey) {
  Bytes hybrid = hex(kWhole);
  hybrid[0] = 6;
  Bytes off_the_curve = hex(kWhole);
  off_the_curve.back() ^= 1;
  Bytes too_long = hex(kCompressed);
  too_long.push_back(0);
  const Bytes no_x = hex("020000000000000000000000000000000000000000000000000000000000000007");
  for (const Bytes& bad : {hybrid, off_the_curve, too_long, no_x, Bytes{}, Bytes(33), Bytes(65)}) {
    const auto result = parse_public_key(bad);
    ASSERT_FALSE(result) << to_hex(bad);
    EXPECT_EQ(result.error().code, Code::kInvalidInput);
  }
  EXPECT_FALSE(parse_x_only_key(ByteView(no_x).subspan(1)));
  EXPECT_FALSE(parse_x_only_key(hex(kCompressed)));
  EXPECT_TRUE(parse_x_only_key(ByteView(hex(kCompressed)).subspan(1)));
}

TEST(Secp, AddsMultiplesOfTheGenerator) {
  const PublicKey one = parse_public_key(hex(kCompressed)).value();
  EXPECT_EQ(tweak_add(one, number(1)).value().hex(), kTwice);
  EXPECT_EQ(tweak_add(one, number(0)).value(), one);
  // order - 1 leads to infinity, the order itself is no tweak
  Hash256 tweak =
      Hash256::from(hex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140").data());
  EXPECT_FALSE(tweak_add(one, tweak));
  tweak.back() = 0x41;
  EXPECT_FALSE(tweak_add(one, tweak));
}

// BIP86, account 0, first receiving address; BIP341, the first vector (no script tree).
TEST(Secp, TweaksTaprootKeys) {
  const std::pair<const char*, const char*> vectors[] = {
      {"cc8a4bc64d897bddc5fbc2f670f7a8ba0b386779106cf1223c6fc5d7cd6fc115",
       "a60869f0dbcf1dc659c9cecbaf8050135ea9e8cdc487053f1dc6880949dc684c"},
      {"d6889cb081036e0faefa3a35157ad71086b123b2b144b649798b494c300a961d",
       "53a1f6e454df1aa2776a2814a721372d6258050de330b3c6d10ee8f4e0dda343"},
  };
  for (const auto& [internal, output] : vectors) {
    const XOnlyKey key = parse_x_only_key(hex(internal)).value();
    EXPECT_EQ(taproot_output_key(key).value().hex(), output);
  }
  EXPECT_FALSE(taproot_output_key(XOnlyKey{}));
}

}  // namespace
}  // namespace coffer::crypto
