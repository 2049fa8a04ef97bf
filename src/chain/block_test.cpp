#include <coffer/chain/block.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "base/result.h"

namespace coffer::chain {
namespace {

// The first block of Bitcoin's main network, as everybody writes it.
constexpr std::string_view kDisplayed =
    "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
constexpr std::string_view kStored =
    "6fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000";

TEST(DisplayedHash, BitcoinReversesAndCardanoDoesNot) {
  const Hash256 bitcoin = parse_display(Family::kBitcoin, kDisplayed).value();
  EXPECT_EQ(to_hex(bitcoin.view()), kStored);
  EXPECT_EQ(display(Family::kBitcoin, bitcoin), kDisplayed);
  const Hash256 cardano = parse_display(Family::kCardano, kDisplayed).value();
  EXPECT_EQ(to_hex(cardano.view()), kDisplayed);
  EXPECT_EQ(display(Family::kCardano, cardano), kDisplayed);
  EXPECT_EQ(display(Family::kBitcoin, Outpoint{bitcoin, 7}), std::string(kDisplayed) + "#7");
}

TEST(DisplayedHash, DigitsOfEitherCase) {
  std::string upper(kDisplayed);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  EXPECT_EQ(parse_display(Family::kBitcoin, upper).value(),
            parse_display(Family::kBitcoin, kDisplayed).value());
}

TEST(DisplayedHash, OtherTextsAreRefused) {
  const std::string good(kDisplayed);
  for (const std::string& text :
       {std::string(), good.substr(1), good.substr(2), good + "0", good + "00", "0x" + good,
        "0x" + good.substr(2), good.substr(1) + "g", good.substr(1) + " ",
        good.substr(1) + std::string(1, '\0')}) {
    for (const Family family : {Family::kBitcoin, Family::kCardano}) {
      const auto parsed = parse_display(family, text);
      ASSERT_FALSE(parsed) << text;
      EXPECT_EQ(parsed.error().code, Code::kInvalidInput);
      EXPECT_EQ(parsed.error().message, "expected 64 hex digits");
    }
  }
}

}  // namespace
}  // namespace coffer::chain
