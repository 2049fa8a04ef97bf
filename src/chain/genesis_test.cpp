#include <coffer/chain/genesis.h>

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "crypto/base58.h"

namespace coffer::chain {
namespace {

std::uint64_t total(const std::vector<GenesisUtxo>& utxos) {
  std::uint64_t sum = 0;
  for (const GenesisUtxo& utxo : utxos) sum += utxo.amount.value;
  return sum;
}

// A well-known vector: the largest entry of mainnet's sale.
constexpr std::string_view kKnownFile = R"({"protocolConsts": {"protocolMagic": 764824073},
    "avvmDistr": {"URVk8FxX6Ik9z-Cub09oOxMkp6FwNq27kJUXbjJnfsQ=": "2463071701000000"}})";

void expect_known(const GenesisUtxo& utxo) {
  EXPECT_EQ(utxo.outpoint.tx.hex(),
            "0ae3da29711600e94a33fb7441d2e76876a9a1e98b5ebdefbf2e3bc535617616");
  EXPECT_EQ(utxo.outpoint.index, 0u);
  EXPECT_EQ(crypto::base58_encode(utxo.address).value(),
            "Ae2tdPwUPEZKQuZh2UndEoTKEakMYHGNjJVYmNZgJk2qqgHouxDsA5oT83n");
  EXPECT_EQ(utxo.amount, Amount(2'463'071'701'000'000));
  EXPECT_EQ(utxo.kind, GenesisKind::kRedeem);
}

TEST(GenesisUtxos, KnownRedeemAddress) {
  const auto utxos = byron_genesis_utxos(as_bytes(kKnownFile)).value();
  ASSERT_EQ(utxos.size(), 1u);
  expect_known(utxos[0]);
}

TEST(GenesisUtxos, Mainnet) {
  COFFER_REQUIRE_DATA_OR_SKIP(file, "cardano/pallas/mainnet-byron-genesis.json");
  const auto utxos = byron_genesis_utxos(read_file(file, 1 << 24).value()).value();
  EXPECT_EQ(utxos.size(), 14'505u);
  EXPECT_EQ(total(utxos), 31'112'484'745'000'000u);
  for (const GenesisUtxo& utxo : utxos) ASSERT_TRUE(is_redeem_address(utxo.address));
  const auto known = std::find_if(utxos.begin(), utxos.end(), [](const GenesisUtxo& utxo) {
    return utxo.amount == Amount(2'463'071'701'000'000);
  });
  ASSERT_NE(known, utxos.end());
  expect_known(*known);
}

TEST(GenesisUtxos, Preview) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "cardano/preview/genesis");
  const auto utxos = load_genesis_utxos(directory).value();
  // The oracle's first row has as many after one transaction that took one and made one, and
  // 200,000 lovelace less: its fee.
  EXPECT_EQ(utxos.size(), 8u);
  EXPECT_EQ(total(utxos), 30'000'000'000'000'000u);
  EXPECT_EQ(std::count_if(utxos.begin(), utxos.end(),
                          [](const auto& utxo) { return utxo.amount == Amount(0); }),
            7);
  EXPECT_TRUE(std::is_sorted(utxos.begin(), utxos.end(),
                             [](const auto& a, const auto& b) { return a.outpoint < b.outpoint; }));
  for (const GenesisUtxo& utxo : utxos) EXPECT_FALSE(is_redeem_address(utxo.address));
}

TEST(GenesisUtxos, ShelleyFunds) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "cardano/pallas");
  const auto utxos =
      shelley_genesis_utxos(read_file(data / "partner-shelley-genesis.json", 1 << 20).value())
          .value();
  EXPECT_EQ(utxos.size(), 4u);
  EXPECT_EQ(total(utxos), 29'993'040'000'000'000u + 3'480'000'000'000u + 1'000'000'000u);
  EXPECT_EQ(utxos[0].kind, GenesisKind::kShelleyFunds);
  EXPECT_TRUE(
      shelley_genesis_utxos(read_file(data / "mainnet-shelley-genesis.json", 1 << 20).value())
          .value()
          .empty());
}

TEST(GenesisUtxos, OtherNetworksHaveTheirMagicInRedeemAddresses) {
  const Bytes key(32, 7);
  const Bytes mainnet = redeem_address(key, 764824073), other = redeem_address(key, 1097911063);
  EXPECT_NE(mainnet, other);
  EXPECT_TRUE(is_redeem_address(mainnet));
  EXPECT_TRUE(is_redeem_address(other));
  EXPECT_GT(other.size(), mainnet.size());
  for (std::size_t size = 0; size < other.size(); ++size)
    EXPECT_FALSE(is_redeem_address(ByteView(other).first(size)));
}

TEST(GenesisUtxos, BadFilesAreErrorsThatNameTheEntry) {
  const auto error_of = [](std::string_view text) {
    const auto utxos = byron_genesis_utxos(as_bytes(text));
    return utxos ? std::string("fine") : utxos.error().message;
  };
  EXPECT_NE(error_of("{"), "fine");
  EXPECT_EQ(error_of("[]"), "not a JSON object");
  EXPECT_EQ(error_of("{}"), "no protocolConsts.protocolMagic");
  const auto with = [&](const std::string& rest) {
    return error_of(R"({"protocolConsts": {"protocolMagic": 2}, )" + rest + "}");
  };
  EXPECT_EQ(with(R"("avvmDistr": 1)"), "avvmDistr is not an object");
  EXPECT_EQ(with(R"("avvmDistr": {}, "avvmDistr": {})"), "a field is there twice");
  EXPECT_EQ(with(R"("avvmDistr": {"abc": "1"})"), "avvmDistr, entry abc: not a key of 32 bytes");
  EXPECT_EQ(with(R"("avvmDistr": {"a+c": "1"})"), "avvmDistr, entry a+c: not base64url");
  for (const char* bad : {"\"\"", "\"1x\"", "-1", "1.5", "\"18446744073709551616\"", "null"})
    EXPECT_NE(with(std::string(R"("nonAvvmBalances": {"2cWKMJemoBa": )") + bad + "}")
                  .find("is not an amount"),
              std::string::npos)
        << bad;
  EXPECT_NE(with(R"("nonAvvmBalances": {"0": "1"})").find("entry 0"), std::string::npos);
  TempDir dir;
  EXPECT_EQ(load_genesis_utxos(dir.path()).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace coffer::chain
