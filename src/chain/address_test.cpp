#include <coffer/chain/address.h>

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "base/test_data.h"
#include "chain/script.h"

namespace coffer::chain {
namespace {

namespace json = boost::json;

Network bitcoin(std::string_view name) {
  return find_network("bitcoin", name).value();
}

// Core's own list: [text, scriptPubKey or key, {"chain", "isPrivkey", …}].
TEST(BitcoinAddress, AgreesWithCoresList) {
  COFFER_REQUIRE_DATA_OR_SKIP(file, "bitcoin/vectors/key_io_valid.json");
  const std::pair<const char*, const char*> chains[] = {{"main", "mainnet"},
                                                        {"test", "testnet"},
                                                        {"testnet4", "testnet4"},
                                                        {"signet", "signet"},
                                                        {"regtest", "regtest"}};
  int checked = 0;
  const json::value rows = json::parse(as_text(read_file(file, 10u << 20).value()));
  for (const json::value& row : rows.as_array()) {
    const auto& facts = row.as_array()[2].as_object();
    if (facts.at("isPrivkey").as_bool()) continue;
    const std::string chain(facts.at("chain").as_string());
    for (const auto& [theirs, ours] : chains) {
      if (chain != theirs) continue;
      const std::string text(row.as_array()[0].as_string()), script(row.as_array()[1].as_string());
      auto parsed = parse_address(bitcoin(ours), text);
      ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
      EXPECT_EQ(to_hex(*parsed), script) << text;
      EXPECT_EQ(address_text(bitcoin(ours), *parsed), text);
      ++checked;
    }
  }
  EXPECT_GT(checked, 30);
}

TEST(BitcoinAddress, RefusesCoresInvalidOnes) {
  COFFER_REQUIRE_DATA_OR_SKIP(file, "bitcoin/vectors/key_io_invalid.json");
  const json::value rows = json::parse(as_text(read_file(file, 10u << 20).value()));
  for (const json::value& row : rows.as_array())
    for (const char* name : {"mainnet", "testnet", "signet", "regtest"}) {
      const std::string text(row.as_array()[0].as_string());
      EXPECT_FALSE(parse_address(bitcoin(name), text)) << text << " on " << name;
    }
}

TEST(BitcoinAddress, SaysWhenTheNetworkIsWrong) {
  const char* mainnet = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
  EXPECT_EQ(parse_address(bitcoin("regtest"), mainnet).error().message,
            "an address of another network than regtest");
  EXPECT_EQ(to_hex(parse_address(bitcoin("mainnet"), mainnet).value()),
            "0014751e76e8199196d454941c45d1b3a323f1433bd6");
  EXPECT_EQ(address_text(bitcoin("mainnet"), from_hex("51024e73").value()), "bc1pfeessrawgf");
  Network other = bitcoin("regtest");  // networks are data
  other.bitcoin.segwit_hrp = "rb";
  const auto text =
      address_text(other, from_hex("0014751e76e8199196d454941c45d1b3a323f1433bd6").value());
  EXPECT_TRUE(text && text->starts_with("rb1q"));
  EXPECT_TRUE(parse_address(other, *text));
}

TEST(OutputType, NamesEachForm) {
  const std::string key = "02" + std::string(64, 'a'), uncompressed = "04" + std::string(128, 'b');
  const std::string hash20(40, '1'), hash32(64, '2');
  const std::pair<std::string, const char*> cases[] = {
      {"21" + key + "ac", "p2pk"},
      {"41" + uncompressed + "ac", "p2pk"},
      {"76a914" + hash20 + "88ac", "p2pkh"},
      {"a914" + hash20 + "87", "p2sh"},
      {"0014" + hash20, "p2wpkh"},
      {"0020" + hash32, "p2wsh"},
      {"5120" + hash32, "p2tr"},
      {"51024e73", "p2a"},
      {"6a", "op_return"},
      {"6a0401020304", "op_return"},
      {"5121" + key + "51ae", "multisig"},
      {"5221" + key + "41" + uncompressed + "52ae", "multisig"},
      {"5321" + key + "51ae", "other"},
      {"5121" + key + "52ae", "other"},
      {"5220" + hash32, "other"},
      {"", "other"},
      {"51", "other"},
      {"21" + std::string("05") + std::string(64, 'a') + "ac", "other"},
      {"0015" + hash20 + "11", "other"}};
  for (const auto& [script, name] : cases)
    EXPECT_EQ(to_string(output_type(from_hex(script).value())), name) << script;
}

// The examples of CIP 19.
TEST(CardanoAddress, AgreesWithCip19) {
  const Network mainnet = find_network("cardano", "mainnet").value(),
                test = find_network("cardano", "preprod").value();
  const std::string payment = "9493315cd92eb5d8c4304e67b7e16ae36d61d34502694657811a2c8e",
                    stake = "337b62cfff6403a06a3acbc34f8c46003c69fe79a3628cefa9c47251",
                    script = "c37b1b5dc0669f1d3c61a6fddb2e8fde96be87b881c60bce8e8d542f";
  const std::tuple<std::string, const char*> cases[] = {
      {"01" + payment + stake,
       "addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2"
       "wywfgse35a3x"},
      {"11" + script + stake,
       "addr1z8phkx6acpnf78fuvxn0mkew3l0fd058hzquvz7w36x4gten0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2"
       "wywfgs9yc0hh"},
      {"61" + payment, "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl8"},
      {"71" + script, "addr1w8phkx6acpnf78fuvxn0mkew3l0fd058hzquvz7w36x4gtcyjy7wx"},
      {"e1" + stake, "stake1uyehkck0lajq8gr28t9uxnuvgcqrc6070x3k9r8048z8y5gh6ffgw"},
      {"41" + payment + "8198bd431b03",
       "addr1gx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer5pnz75xxcrzqf96k"}};
  for (const auto& [raw_hex, text] : cases) {
    const Bytes raw = from_hex(raw_hex).value();
    EXPECT_EQ(address_text(mainnet, raw), text);
    EXPECT_EQ(parse_address(mainnet, text).value(), raw);
    EXPECT_EQ(parse_address(test, text).error().message,
              "an address of another network than preprod");
  }
  const Credentials both = credentials_of(from_hex("11" + script + stake).value());
  EXPECT_EQ(both.payment->hash.hex(), script);
  EXPECT_TRUE(both.payment->is_script);
  EXPECT_EQ(both.stake->hash.hex(), stake);
  EXPECT_FALSE(both.stake->is_script);
  EXPECT_EQ(address_text(mainnet, stake_address(mainnet, *both.stake)),
            "stake1uyehkck0lajq8gr28t9uxnuvgcqrc6070x3k9r8048z8y5gh6ffgw");
  EXPECT_FALSE(credentials_of(from_hex("61" + payment).value()).stake);
}

TEST(CardanoAddress, ByronInBase58AndMalformedOnesAsTheyAre) {
  const Network mainnet = find_network("cardano", "mainnet").value();
  const Bytes byron = from_hex(
                          "82d818584283581caca526063940ef762c899b92f20134264a43c5ab36d46cc6d36540d1"
                          "a101581e581c2729cbfd6411"
                          "33bd0633ff422b246fa0d95cc2bef293d39adf3fd22b001aa25f5bd4")
                          .value();
  const auto text = address_text(mainnet, byron);
  ASSERT_TRUE(text);
  EXPECT_EQ(parse_address(mainnet, *text).value(), byron);
  EXPECT_FALSE(credentials_of(byron).payment);
  Bytes damaged = byron;
  damaged.back() ^= 1;
  EXPECT_FALSE(address_text(mainnet, damaged));
  for (const char* malformed : {"", "61", "01aabb", "90", "41"})
    EXPECT_FALSE(address_text(mainnet, from_hex(malformed).value())) << malformed;
  EXPECT_FALSE(parse_address(mainnet, "addr1qqqq"));
  EXPECT_FALSE(parse_address(mainnet, "hello"));
}

}  // namespace
}  // namespace coffer::chain
