#include "api/input.h"
#include "utxo/json/input.h"

#include <gtest/gtest.h>

#include <coffer/chain/address.h>
#include "crypto/bech32.h"

namespace coffer::utxo {
namespace {

const chain::Network& bitcoin() {
  static const auto network = chain::find_network("bitcoin", "mainnet").value();
  return network;
}
const chain::Network& cardano() {
  static const auto network = chain::find_network("cardano", "mainnet").value();
  return network;
}

template <typename T>
std::string error_of(const Result<T>& result) {
  if (result) return "no error";
  EXPECT_EQ(result.error().code, Code::kInvalidInput);
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
  return result.error().message;
}

TEST(UtxoInput, AddressesInEveryForm) {
  const std::string script = "76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac";
  EXPECT_EQ(to_hex(api::parse_owner(bitcoin(), "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").value()),
            script);
  EXPECT_EQ(to_hex(api::parse_owner(bitcoin(), script).value()), script);
  EXPECT_TRUE(api::parse_owner(bitcoin(), "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"));
  // An enterprise address with the script's or key's hash of zeros, in both forms.
  const std::string raw = "61" + std::string(56, '0');
  const std::string text = *chain::address_text(cardano(), from_hex(raw).value());
  EXPECT_EQ(to_hex(api::parse_owner(cardano(), text).value()), raw);
  EXPECT_EQ(to_hex(api::parse_owner(cardano(), raw).value()), raw);
  for (const char* bad : {"", "x", "abc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb",
                          "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"})
    EXPECT_TRUE(error_of(api::parse_owner(bitcoin(), bad)).starts_with("address: ")) << bad;
  EXPECT_TRUE(
      error_of(api::parse_owner(bitcoin(), std::string(3'001, '1'))).starts_with("address: "));
}

TEST(UtxoInput, StakeAddressHoldsNoOutputs) {
  const Bytes stake = chain::stake_address(cardano(), {});
  for (const std::string& text : {*chain::address_text(cardano(), stake), to_hex(stake)})
    EXPECT_NE(error_of(api::parse_owner(cardano(), text)).find("stake"), std::string::npos);
}

TEST(UtxoInput, Credentials) {
  Hash224 hash{};
  hash[0] = 0xab;
  EXPECT_EQ(parse_credential(cardano(), hash.hex()).value(), hash);
  const auto bech32 = [&](std::string_view hrp, ByteView bytes) {
    return crypto::bech32_encode(crypto::Bech32Variant::kBech32, hrp, crypto::to_base32(bytes))
        .value();
  };
  for (const char* hrp : {"addr_vkh", "addr_shared_vkh", "script"})
    EXPECT_EQ(parse_credential(cardano(), bech32(hrp, hash.view())).value(), hash) << hrp;
  EXPECT_NE(error_of(parse_credential(cardano(), bech32("stake_vkh", hash.view()))).find("prefix"),
            std::string::npos);
  for (const std::string& bad : {std::string(), std::string("00"), hash.hex() + "00",
                                 std::string(56, 'z'), bech32("addr_vkh", hash.view().first(27))})
    EXPECT_TRUE(error_of(parse_credential(cardano(), bad)).starts_with("credential")) << bad;
  EXPECT_NE(error_of(parse_credential(bitcoin(), hash.hex())).find("bitcoin"), std::string::npos);
}

TEST(UtxoInput, Outpoints) {
  const std::string tx = "00" + std::string(60, '1') + "ff";
  EXPECT_EQ(api::parse_outpoint(cardano(), tx + "#65535").value().tx.hex(), tx);
  // Bitcoin prints its hashes back to front.
  const auto outpoint = api::parse_outpoint(bitcoin(), tx + ":4294967295").value();
  EXPECT_EQ(chain::display(chain::Family::kBitcoin, outpoint.tx), tx);
  EXPECT_EQ(outpoint.tx[0], 0xff);
  EXPECT_EQ(outpoint.index, 4294967295u);
  for (const char* index : {"", "x", "-1", "+1", "1 ", "0x1", "65536", "18446744073709551616"})
    EXPECT_NE(error_of(api::parse_outpoint(cardano(), tx, index)).find("output index"),
              std::string::npos)
        << index;
  for (const std::string& bad : {tx, tx.substr(1) + "#0", "0x" + tx + "#0", std::string("#")})
    EXPECT_NE(error_of(api::parse_outpoint(cardano(), bad)), "no error") << bad;
}

TEST(UtxoInput, Assets) {
  const std::string policy(56, 'a');
  EXPECT_EQ(parse_asset(policy).value().name, std::nullopt);
  for (const std::string& text : {policy + "beef", policy + ".beef"})
    EXPECT_EQ(parse_asset(text).value().name, (Bytes{0xbe, 0xef}));
  for (const std::string& bad : {std::string(), policy.substr(2), policy + "b", policy + ".",
                                 policy + ".be.ef", policy + std::string(66, '0'), policy + "zz"})
    EXPECT_TRUE(error_of(parse_asset(bad)).starts_with("asset")) << bad;
}

TEST(UtxoInput, Pages) {
  const auto defaults = parse_page_request({}).value();
  EXPECT_EQ(defaults.page, 1u);
  EXPECT_EQ(defaults.count, 100u);
  EXPECT_FALSE(defaults.descending);
  const auto all = parse_page_request({{"page", "3"},
                                       {"count", "7"},
                                       {"order", "desc"},
                                       {"cursor", "c"},
                                       {"from_slot", "5"},
                                       {"to_slot", "18446744073709551615"},
                                       {"other", "x"}})
                       .value();
  EXPECT_EQ(all.page, 3u);
  EXPECT_EQ(all.count, 7u);
  EXPECT_TRUE(all.descending);
  EXPECT_EQ(all.cursor, "c");
  EXPECT_EQ(all.from_slot, Slot(5));
  EXPECT_EQ(all.to_slot, Slot(~std::uint64_t{0}));
}

}  // namespace
}  // namespace coffer::utxo
