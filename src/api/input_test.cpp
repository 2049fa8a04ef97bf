#include "api/input.h"

#include <gtest/gtest.h>

#include <coffer/chain/address.h>

namespace coffer::api {
namespace {

const chain::Network kBitcoin = chain::find_network("bitcoin", "mainnet").value();
const chain::Network kCardano = chain::find_network("cardano", "mainnet").value();
const std::string kTx = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

template <typename T>
void expect_invalid(const Result<T>& result, std::string_view text) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalidInput);
  EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
}

TEST(ApiInput, OutpointReadsHashesAsTheirChainPrintsThem) {
  for (const std::string separator : {"#", ":"}) {
    const auto bitcoin = parse_outpoint(kBitcoin, kTx + separator + "7").value();
    EXPECT_EQ(bitcoin.index, 7u);
    EXPECT_EQ(bitcoin.tx.data()[0], 0xff);
    EXPECT_EQ(chain::display(chain::Family::kBitcoin, bitcoin.tx), kTx);
    const auto cardano = parse_outpoint(kCardano, kTx + separator + "7").value();
    EXPECT_EQ(cardano.tx.data()[0], 0x00);
    EXPECT_EQ(chain::display(chain::Family::kCardano, cardano.tx), kTx);
  }
}

TEST(ApiInput, OutpointIndexIsBoundedByTheChain) {
  EXPECT_EQ(parse_outpoint(kBitcoin, kTx, "4294967295").value().index, 0xffffffffu);
  expect_invalid(parse_outpoint(kBitcoin, kTx, "4294967296"), "output index");
  EXPECT_EQ(parse_outpoint(kCardano, kTx, "65535").value().index, 0xffffu);
  expect_invalid(parse_outpoint(kCardano, kTx, "65536"), "output index");
}

TEST(ApiInput, MalformedOutpointIsNamed) {
  expect_invalid(parse_outpoint(kBitcoin, kTx), "TX#INDEX");
  expect_invalid(parse_outpoint(kBitcoin, kTx.substr(2) + "#0"), "64 hex digits");
  expect_invalid(parse_outpoint(kBitcoin, "zz" + kTx.substr(2) + "#0"), "64 hex digits");
  for (const char* index : {"", "-1", "+1", "1 ", "0x1", "1#2"})
    expect_invalid(parse_outpoint(kBitcoin, kTx, index), "output index");
}

TEST(ApiInput, WholeNumberStaysWithinItsBounds) {
  EXPECT_EQ(parse_whole("5", 5, 9).value(), 5u);
  EXPECT_EQ(parse_whole("9", 5, 9).value(), 9u);
  for (const char* text : {"4", "10", "", "5.0", " 5", "18446744073709551616"})
    expect_invalid(parse_whole(text, 5, 9), "from 5 to 9");
}

TEST(ApiInput, OwnerIsAnAddressOrItsBytes) {
  const Bytes script = from_hex("0014751e76e8199196d454941c45d1b3a323f1433bd6").value();
  EXPECT_EQ(parse_owner(kBitcoin, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4").value(), script);
  EXPECT_EQ(parse_owner(kBitcoin, to_hex(script)).value(), script);
  expect_invalid(parse_owner(kBitcoin, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5"), "address");
  expect_invalid(parse_owner(kBitcoin, ""), "address");
}

TEST(ApiInput, StakeAddressOwnsNoOutputs) {
  expect_invalid(parse_owner(kCardano, "e1" + std::string(56, '0')), "stake address");
}

}  // namespace
}  // namespace coffer::api
