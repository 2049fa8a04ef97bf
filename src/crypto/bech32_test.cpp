// The lists of valid and invalid texts are those of BIP 173 and BIP 350.
#include "crypto/bech32.h"
#include "base/result.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace coffer::crypto {
namespace {

struct Invalid {
  std::string text;
  std::string_view why;  // part of the message
};

std::string upper_case(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}
std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

void expect_valid(const std::string& text, Bech32Variant variant) {
  const auto decoded = bech32_decode(text);
  ASSERT_TRUE(decoded) << text << ": " << decoded.error().message;
  EXPECT_EQ(decoded->variant, variant) << text;
  EXPECT_EQ(bech32_encode(variant, decoded->hrp, decoded->data).value(), lower_case(text));
  const auto shouted = bech32_decode(upper_case(text));
  ASSERT_TRUE(shouted) << text;
  EXPECT_EQ(shouted->hrp, decoded->hrp);
  EXPECT_EQ(shouted->data, decoded->data);
}

TEST(Bech32, ValidTexts) {
  for (const std::string& text :
       {std::string("A12UEL5L"), std::string("a12uel5l"),
        std::string("an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcluded"
                    "charactersbio1tt5tgs"),
        std::string("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"),
        "11" + std::string(82, 'q') + "c8247j",
        std::string("split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w"),
        std::string("?1ezyfcl")})
    expect_valid(text, Bech32Variant::kBech32);
  for (const std::string& text :
       {std::string("A1LQFN3A"), std::string("a1lqfn3a"),
        std::string("an83characterlonghumanreadablepartthatcontainsthetheexcludedcharactersbio"
                    "andnumber11sg7hg6"),
        std::string("abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx"),
        "11" + std::string(82, 'l') + "ludsr8",
        std::string("split1checkupstagehandshakeupstreamerranterredcaperredlc445v"),
        std::string("?1v759aa")})
    expect_valid(text, Bech32Variant::kBech32m);
}

TEST(Bech32, InvalidTexts) {
  const Invalid cases[] = {
      {"\x20"
       "1nwldj5",
       "position 0"},
      {"\x7f"
       "1axkwrx",
       "position 0"},
      {"\x80"
       "1eym55h",
       "position 0"},
      {"an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pv"
       "x",
       "at most 90"},
      {"pzry9x0s0muk", "no human-readable part"},
      {"1pzry9x0s0muk", "no human-readable part"},
      {"x1b4n0q5v", "position 2"},
      {"li1dgmt3", "too short"},
      {"de1lg7wt\xff", "position 8"},
      {"A1G7SGD8", "wrong checksum"},
      {"10a06t8", "no human-readable part"},
      {"1qzzfhee", "no human-readable part"},
      {"\x20"
       "1xj0phk",
       "position 0"},
      {"\x7f"
       "1g6xzxy",
       "position 0"},
      {"\x80"
       "1vctc34",
       "position 0"},
      {"an84characterslonghumanreadablepartthatcontainsthetheexcludedcharactersbioandnumber11d6pts"
       "4",
       "at most 90"},
      {"qyrz8wqd2c9m", "no human-readable part"},
      {"1qyrz8wqd2c9m", "no human-readable part"},
      {"y1b0jsk6g", "position 2"},
      {"lt1igcx5c0", "position 3"},
      {"in1muywd", "too short"},
      {"mm1crxm3i", "position 8"},
      {"au1s5cgom", "position 7"},
      {"M1VUXWEZ", "wrong checksum"},
      {"16plkw9", "no human-readable part"},
      {"1p2gdwpf", "no human-readable part"},
      {"a12UEL5L", "mixed at position 3"},
      {"", "no human-readable part"},
  };
  for (const Invalid& entry : cases) {
    const auto decoded = bech32_decode(entry.text);
    ASSERT_FALSE(decoded) << entry.text;
    EXPECT_NE(decoded.error().message.find(entry.why), std::string::npos)
        << entry.text << ": " << decoded.error().message;
  }
}

TEST(Segwit, ValidAddresses) {
  const std::pair<std::string, std::string> cases[] = {
      {"BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", "00751e76e8199196d454941c45d1b3a323f1433bd6"},
      {"tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7",
       "001863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262"},
      {"bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y",
       "01751e76e8199196d454941c45d1b3a323f1433bd6751e76e8199196d454941c45d1b3a323f1433bd6"},
      {"BC1SW50QGDZ25J", "10751e"},
      {"bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs", "02751e76e8199196d454941c45d1b3a323"},
      {"tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy",
       "00000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433"},
      {"tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c",
       "01000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433"},
      {"bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
       "0179be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"},
  };
  for (const auto& [text, expected] : cases) {
    const auto address = decode_segwit(text);
    ASSERT_TRUE(address) << text << ": " << address.error().message;
    EXPECT_EQ(fmt::format("{:02x}{}", address->version, to_hex(address->program)), expected);
    EXPECT_EQ(encode_segwit(address->hrp, address->version, address->program).value(),
              lower_case(text));
  }
}

TEST(Segwit, InvalidAddresses) {
  const Invalid cases[] = {
      {"bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd", "must use bech32m"},
      {"tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf", "must use bech32m"},
      {"BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL", "must use bech32m"},
      {"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh", "must use bech32"},
      {"tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47", "must use bech32"},
      {"bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4", "position 59"},
      {"BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R", "version 17"},
      {"bc1pw5dgrnzv", "2 to 40 bytes, not 1"},
      {"bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav",
       "2 to 40 bytes, not 41"},
      {"BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P", "20 or 32 bytes, not 16"},
      {"tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq", "mixed"},
      {"bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf", "left over"},
      {"tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j", "not zero"},
      {"bc1gmk9yu", "no version"},
  };
  for (const Invalid& entry : cases) {
    const auto address = decode_segwit(entry.text);
    ASSERT_FALSE(address) << entry.text;
    EXPECT_EQ(address.error().code, Code::kInvalidInput);
    EXPECT_NE(address.error().message.find(entry.why), std::string::npos)
        << entry.text << ": " << address.error().message;
  }
  EXPECT_FALSE(encode_segwit("bc", 0, Bytes(21)));
  EXPECT_FALSE(encode_segwit("bc", 17, Bytes(20)));
  EXPECT_FALSE(encode_segwit("bc", 1, Bytes(41)));
  EXPECT_FALSE(encode_segwit("BC", 1, Bytes(32)));
  EXPECT_FALSE(encode_segwit("", 1, Bytes(32)));
}

TEST(Bech32, CardanoAddressesMayBeLong) {
  // A base address of CIP 19's test vectors.
  const std::string text =
      "addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2w"
      "ywfg"
      "se35a3x";
  EXPECT_EQ(bech32_decode(text).error().code, Code::kTooLarge);
  const auto decoded = bech32_decode(text, kMaxBech32Cardano);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->hrp, "addr");
  EXPECT_EQ(to_hex(from_base32(decoded->data).value()),
            "019493315cd92eb5d8c4304e67b7e16ae36d61d34502694657811a2c8e"
            "337b62cfff6403a06a3acbc34f8c46003c69fe79a3628cefa9c47251");
  EXPECT_EQ(bech32_encode(decoded->variant, decoded->hrp, decoded->data, kMaxBech32Cardano).value(),
            text);
}

RC_GTEST_PROP(Bech32, RoundTripAndOneWrongCharacter, (const Bytes& bytes)) {
  const Bytes values = to_base32(bytes);
  RC_ASSERT(from_base32(values).value() == bytes);
  const auto variant = *rc::gen::element(Bech32Variant::kBech32, Bech32Variant::kBech32m);
  std::string text = bech32_encode(variant, "test", values, kMaxBech32Cardano).value();
  const auto decoded = bech32_decode(text, kMaxBech32Cardano);
  RC_ASSERT(decoded && decoded->variant == variant && decoded->data == values);
  const std::size_t at = 5 + *rc::gen::inRange<std::size_t>(0, text.size() - 5);
  text[at] = text[at] == 'q' ? 'p' : 'q';
  RC_ASSERT(!bech32_decode(text, kMaxBech32Cardano));
}

}  // namespace
}  // namespace coffer::crypto
