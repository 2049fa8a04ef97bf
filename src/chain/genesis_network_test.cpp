#include "chain/genesis_network.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "base/test_data.h"

namespace coffer::chain {
namespace {

TEST(GenesisNetwork, ByronFilesHaveTheHashThatTheirFirstBlockNames) {  // E15
  COFFER_REQUIRE_DATA_OR_SKIP(data, "cardano/pallas");
  for (const char* name : {"mainnet", "preview"}) {
    const Bytes text =
        read_file(data / fmt::format("{}-byron-genesis.json", name), 64u << 20).value();
    EXPECT_EQ(byron_genesis_hash(text).value(), find_network("cardano", name).value().genesis);
  }
}

TEST(GenesisNetwork, FilesAreCheckedByMagicAndHash) {
  COFFER_REQUIRE_DATA_OR_SKIP(genesis, "cardano/preview/genesis");
  const Network preview = find_network("cardano", "preview").value();
  EXPECT_TRUE(check_genesis_files(preview, genesis));
  EXPECT_EQ(check_genesis_files(find_network("cardano", "preprod").value(), genesis).error().code,
            Code::kUsage);
  const TempDir dir;
  std::ofstream(dir.path() / "shelley-genesis.json") << R"({"networkMagic": 2})";
  EXPECT_NE(
      check_genesis_files(preview, dir.path()).error().message.find("is not the genesis file"),
      std::string::npos);
}

TEST(GenesisNetwork, PrivateNetworkTakesItsParametersFromTheFile) {
  const TempDir dir;
  const auto with = [&](const std::string& text) {
    std::ofstream(dir.path() / "shelley-genesis.json") << text;
    return private_network("mine", dir.path());
  };
  const auto made = with(
      R"({"networkMagic": 42, "networkId": "Mainnet", "systemStart": "2022-10-25T00:00:00Z",
          "slotLength": 0.1, "epochLength": 500})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->cardano.magic, 42u);
  EXPECT_EQ(made->cardano.network_id, 1);
  EXPECT_EQ(made->time_of(Slot(25)), 1666656002);
  EXPECT_EQ(made->epoch_of(Slot(1'000)), 2u);
  EXPECT_FALSE(made->first_block);
  const std::string start = R"({"networkMagic": 1, "systemStart": "2022-10-25T00:00:00Z", )";
  const std::string bad_files[] = {"",
                                   "[]",
                                   "{}",
                                   R"({"networkMagic": 1})",
                                   R"({"networkMagic": 1, "systemStart": "soon"})",
                                   start + R"("slotLength": 0, "epochLength": 5})",
                                   start + R"("slotLength": 1, "epochLength": 0})"};
  for (const std::string& bad : bad_files)
    EXPECT_EQ(with(bad).error().code, Code::kInvalidInput) << bad;
  EXPECT_EQ(private_network("Mine!", dir.path()).error().code, Code::kUsage);
  EXPECT_EQ(private_network("mine", dir.path() / "none").error().code, Code::kNotFound);
}

// The first block of a chain, with only what the check looks at.
Block first_block(std::uint8_t era, const Hash256& hash, const Hash256& prev = {}) {
  Block block;
  block.family = Family::kCardano;
  block.era = era;
  block.hash = hash;
  block.prev = prev;
  block.epoch_boundary = era == 0;
  return block;
}

TEST(FirstBlock, OnlyTheNetworksOwnBeginsItsChain) {  // E15
  const Network mainnet = find_network("cardano", "mainnet").value();
  const Network preprod = find_network("cardano", "preprod").value();
  const Network preview = find_network("cardano", "preview").value();
  EXPECT_TRUE(check_first_block(mainnet, first_block(0, *mainnet.first_block, mainnet.genesis)));
  EXPECT_EQ(
      check_first_block(mainnet, first_block(0, *preprod.first_block, preprod.genesis))
          .error()
          .message,
      "block 9ad7ff320c9cf74e0f5ee78d22a85ce42bb0a487d0506bf60cfb5a91ea4497d2 is the first of "
      "cardano preprod, not of cardano mainnet; give --network preprod");
  Hash256 other{};
  other.fill(7);
  EXPECT_EQ(check_first_block(preview, first_block(6, other)).error().code, Code::kConflict);
  const Network mine = private_network_of("mine", other, {});
  EXPECT_TRUE(check_first_block(mine, first_block(6, other)));
  EXPECT_FALSE(check_first_block(mine, first_block(0, other)));                   // Byron
  EXPECT_FALSE(check_first_block(mine, first_block(6, *preview.first_block)));    // a known one
  EXPECT_FALSE(check_first_block(mine, first_block(6, other, preprod.genesis)));  // follows one
}

}  // namespace
}  // namespace coffer::chain
