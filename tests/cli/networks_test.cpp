// A store belongs to one network, and knows it by more than its name (E5, E15); blocks of every
// depth go through the real program (E12).
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>

#include "base/file.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "support/deep_cbor.h"
#include "support/process.h"
#include "support/shell.h"

namespace coffer {
namespace {

using test::expect_refusal;
using test::Finished;
using test::run;

// A genesis file of a private network; another magic makes another network.
std::string shelley_genesis(std::uint64_t magic, const char* slot_length = "0.5") {
  return fmt::format(
      R"({{"networkMagic": {}, "networkId": "Testnet", "systemStart": "2024-01-02T03:04:05.5Z",)"
      R"( "slotLength": {}, "epochLength": 500, "initialFunds": {{}}}})",
      magic, slot_length);
}

class Networks : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }
  void write(const std::string& name, ByteView bytes) const {
    std::filesystem::create_directories((dir_.path() / name).parent_path());
    std::ofstream(path(name), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void write(const std::string& name, const std::string& text) const {
    write(name, as_bytes(text));
  }
  Finished sync(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"sync", "--data", path("data")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  // The progress line and log lines may stand before the error.
  void expect_error(const Finished& end, const std::string& text) const {
    EXPECT_EQ(end.exit_code, 1) << end.err;
    EXPECT_NE(end.err.find(text), std::string::npos) << end.err;
  }
  std::string network_in_status() const {
    const Finished status = run({"status", "--json", "--data", path("data")});
    return boost::json::parse(status.out).at("network").as_string().c_str();
  }
  TempDir dir_;
};

TEST_F(Networks, AnotherCardanoNetworkIsRefusedAndBindsNothing) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "cardano/preview");
  const std::string unpacked = path("preview");
  std::filesystem::create_directories(unpacked);
  const std::string archive = (data / "immutable-00000-00275.tar.xz").string();
  ASSERT_TRUE(test::extract(archive, unpacked, "*00000.*"));
  const std::string source = "immutable:" + unpacked;
  const std::string genesis = (data / "genesis").string();
  for (const char* wrong : {"mainnet", "preprod"})
    expect_error(sync({"--chain", "cardano", "--network", wrong, "--source", source}),
                 "is the first of cardano preview, not of cardano " + std::string(wrong) +
                     "; give --network preview");
  // A private network is not preview either, and the wrong genesis files are noticed by their hash.
  expect_error(
      sync({"--chain", "cardano", "--network", "mine", "--genesis", genesis, "--source", source}),
      "is the first of cardano preview, not of cardano mine");
  write("other/byron-genesis.json", R"({"protocolConsts": {"protocolMagic": 2}, "avvmDistr": {}})");
  const Finished other = sync({"--chain", "cardano", "--network", "preview", "--genesis",
                               path("other"), "--source", source});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("is not the genesis file of cardano preview"), std::string::npos);
  // None of them bound the directory.
  const Finished right = sync({"--chain", "cardano", "--network", "preview", "--genesis", genesis,
                               "--source", source, "--to", "60"});
  EXPECT_EQ(right.exit_code, 0) << right.err;
  const auto stats =
      boost::json::parse(run({"utxo", "stats", "--json", "--data", path("data")}).out);
  EXPECT_EQ(stats.at("block").to_number<int>(), 60);
  EXPECT_EQ(right.err.find("not in the UTXO set"), std::string::npos) << right.err;
  expect_error(sync({"--chain", "cardano", "--network", "preprod", "--source", source}),
               "belongs to cardano preview");
}

TEST_F(Networks, PrivateCardanoNetworkNeedsItsGenesis) {
  ASSERT_EQ(run({"devnet", "write", path("chain.raw"), "--chain", "cardano", "--format", "raw",
                 "--blocks", "40"})
                .exit_code,
            0);
  const std::string source = "file:" + path("chain.raw");
  expect_error(sync({"--chain", "cardano", "--network", "preview", "--source", source}),
               "is not the first of cardano preview, which is 268ae601af8f");
  expect_refusal(sync({"--chain", "cardano", "--network", "mine", "--source", source}), 2,
                 "a private network needs its genesis files");
  write("genesis/shelley-genesis.json", shelley_genesis(77));
  const std::vector<std::string> mine = {"--chain",   "cardano",       "--network", "mine",
                                         "--genesis", path("genesis"), "--source",  source};
  const Finished first = sync(mine);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  // Other commands need no genesis: the store has the network's parameters.
  EXPECT_EQ(network_in_status(), "mine");
  const Finished dump = run({"utxo", "dump", "--data", path("data")});
  EXPECT_EQ(dump.exit_code, 0) << dump.err;
  EXPECT_NE(dump.out, "");
  const std::string outpoint = dump.out.substr(0, dump.out.find('|'));
  const auto got =
      boost::json::parse(run({"utxo", "get", outpoint, "--json", "--data", path("data")}).out);
  const std::int64_t slot = got.at("slot").to_number<std::int64_t>();
  EXPECT_EQ(got.at("block_time").to_number<std::int64_t>(), 1704164645 + slot / 2);
  EXPECT_EQ(got.at("epoch").to_number<std::int64_t>(), slot / 500);
  // The same name with another genesis is another network.
  write("genesis/shelley-genesis.json", shelley_genesis(78));
  expect_error(sync(mine), "belongs to cardano mine with another genesis or seed");
}

TEST_F(Networks, BitcoinBlocksSayWhichNetworkTheyAreOf) {
  ASSERT_EQ(run({"devnet", "write", path("blk00000.dat"), "--blocks", "20"}).exit_code, 0);
  ASSERT_EQ(
      run({"devnet", "write", path("blocks.hex"), "--blocks", "20", "--format", "hex"}).exit_code,
      0);
  const std::string blk = path("blk00000.dat");
  for (const std::string& source : {"file:" + blk, "blkdir:" + dir_.path().string()})
    expect_error(sync({"--network", "testnet4", "--source", source}),
                 blk + " holds blocks of bitcoin regtest, not of testnet4; give --network regtest");
  expect_error(sync({"--network", "mainnet", "--source", "file:" + path("blocks.hex")}),
               "holds blocks of bitcoin regtest, not of mainnet");
  expect_refusal(run({"decode", "--network", "mainnet", blk}), 1, "blocks of bitcoin regtest");
  EXPECT_EQ(run({"decode", blk}).exit_code, 0);
  // Nothing was bound, the wallets' database neither.
  EXPECT_EQ(
      run({"wallet", "create", "shop", "--network", "regtest", "--data", path("data")}).exit_code,
      0);
  const Finished right = sync({"--network", "regtest", "--source", "file:" + blk});
  EXPECT_EQ(right.exit_code, 0) << right.err;
  // Now it is: a wallet is there, and a block.
  expect_error(sync({"--network", "mainnet", "--source", "file:" + blk}), "of bitcoin regtest");
}

// Genesis, then a block for each place that can nest, at every depth.
TEST_F(Networks, BlocksOfAnyDepthAreDecodedAndSynced) {
  write("genesis/shelley-genesis.json", shelley_genesis(77, "1"));
  for (const std::size_t depth : test::kDepths) {
    SCOPED_TRACE(depth);
    Bytes chain;
    Hash256 prev{};
    std::uint64_t number = 0;
    std::string expected_script;
    for (const test::DeepCase& deep : test::deep_cases(depth)) {
      const test::CardanoBlock block =
          test::build({.number = number, .slot = 20 * number + 20, .prev = prev, .txs = {deep.tx}});
      append(chain, block.raw);
      prev = block.hash;
      ++number;
      if (!deep.script_ref.empty()) expected_script = deep.script_hash.hex();
    }
    const std::string name = fmt::format("deep{}", depth);
    write(name, chain);
    for (std::uint64_t entry = 0; entry < number; ++entry) {
      const Finished decoded = run({"decode", "--chain", "cardano", "--network", "preview",
                                    "--entry", std::to_string(entry), path(name)});
      EXPECT_EQ(decoded.exit_code, 0) << decoded.err;
    }
    for (const char* store : {"classic", "mmr"}) {
      const std::string data = path(fmt::format("data-{}-{}", store, depth));
      const Finished synced =
          run({"sync", "--chain", "cardano", "--network", "mine", "--genesis", path("genesis"),
               "--source", "file:" + path(name), "--utxo-store", store, "--data", data});
      EXPECT_EQ(synced.exit_code, 0) << synced.err;
      const std::string dump = run({"utxo", "dump", "--data", data}).out;
      EXPECT_EQ(std::count(dump.begin(), dump.end(), '\n'), static_cast<std::ptrdiff_t>(number));
      EXPECT_NE(dump.find(expected_script), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace coffer
