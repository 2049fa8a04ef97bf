// Real blocks against the answers of an independent implementation.
#include "support/oracle.h"

#include <gtest/gtest.h>

#include <sstream>

#include <coffer/chain/decode.h>
#include "base/file.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "feed/block_file.h"
#include "node/block_json.h"
#include "support/unpack.h"

namespace coffer {
namespace {

namespace bj = boost::json;
using test::unpack;

Bytes block_bytes(const std::filesystem::path& file, std::size_t size) {
  Bytes data = read_file(file, 100u << 20).value();
  std::string text(as_text(data));
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  if (auto decoded = from_hex(text)) data = std::move(*decoded);
  if (data.size() > size) data.resize(size);  // one file holds its block twice
  return data;
}

// Where `coffer decode` says something else than the oracle.
std::string difference(const bj::value& expected, const chain::Network& network,
                       const chain::Block& block) {
  return oracle::first_difference(
      oracle::with_text_amounts(expected),
      bj::parse(node::block_json(network, block, true).value()));  // decode() has verified it
}

TEST(Oracle, EverySingleCardanoBlock) {
  COFFER_REQUIRE_DATA_OR_SKIP(index, "oracle/cardano/INDEX.json");
  const auto data = shared_data().value();
  const chain::Network network = chain::find_network("cardano", "preprod").value();
  int compared = 0;
  const bj::value rows = bj::parse(as_text(read_file(index, 100u << 20).value()));
  for (const bj::value& row : rows.as_array()) {
    const std::string file(row.at("file").as_string());
    const auto expected =
        read_file(data / "oracle/cardano" / std::string(row.at("oracle").as_string()), 100u << 20)
            .value();
    auto block =
        chain::decode(network, block_bytes(data / file, row.at("size").to_number<std::size_t>()));
    ASSERT_TRUE(block) << file << ": " << block.error().message;
    ASSERT_EQ(difference(bj::parse(as_text(expected)), network, *block), "") << file;
    ++compared;
  }
  EXPECT_EQ(compared, 66);
}

TEST(Oracle, RegtestRunOfEveryOutputType) {
  COFFER_REQUIRE_DATA_OR_SKIP(file, "bitcoin/regtest/kernel_regtest_blocks_1_to_206.hex");
  const auto data = shared_data().value();
  const chain::Network network = chain::find_network("bitcoin", "regtest").value();
  std::istringstream expected(
      unpack("zcat", data / "oracle/bitcoin/core-kernel-regtest-0-206.jsonl.gz"));
  std::istringstream blocks(std::string(as_text(read_file(file, 100u << 20).value())));
  std::string line, block_hex;
  std::getline(expected, line);  // the genesis block is not in the file
  for (int height = 1; std::getline(blocks, block_hex); ++height) {
    ASSERT_TRUE(std::getline(expected, line));
    while (!block_hex.empty() && std::isspace(static_cast<unsigned char>(block_hex.back())))
      block_hex.pop_back();
    auto block = chain::decode(network, from_hex(block_hex).value());
    ASSERT_TRUE(block) << height << ": " << block.error().message;
    ASSERT_EQ(difference(bj::parse(line), network, *block), "") << "height " << height;
  }
  EXPECT_FALSE(std::getline(expected, line));
}

TEST(Oracle, SingleBitcoinBlocks) {
  COFFER_REQUIRE_DATA_OR_SKIP(index, "oracle/bitcoin/INDEX.json");
  const auto data = shared_data().value();
  const chain::Network network = chain::find_network("bitcoin", "mainnet").value();
  int compared = 0;
  const bj::value rows = bj::parse(as_text(read_file(index, 100u << 20).value()));
  for (const bj::value& row : rows.at("blocks").as_array()) {
    const std::filesystem::path file = data / std::string(row.at("file").as_string());
    Bytes raw;
    if (file.extension() == ".bz2") {
      const std::string unpacked = unpack("bzcat", file);
      raw.assign(unpacked.begin(), unpacked.end());
    } else {
      raw = read_file(file, 100u << 20).value();
    }
    const auto size = row.at("size").to_number<std::size_t>();
    // Some files have the magic and size of a blk file before the block, or more than one block.
    if (raw.size() >= size + 8 && equal(ByteView(raw).first(4), network.bitcoin.magic))
      raw.erase(raw.begin(), raw.begin() + 8);
    if (raw.size() > size) raw.resize(size);
    auto block = chain::decode(network, std::move(raw));
    ASSERT_TRUE(block) << file << ": " << block.error().message;
    EXPECT_EQ(display(chain::Family::kBitcoin, block->hash),
              std::string(row.at("hash").as_string()));
    const auto* full = row.as_object().if_contains("full");
    if (full == nullptr || !full->is_string()) continue;
    const std::string expected =
        unpack("zcat", data / "oracle/bitcoin" / std::string(full->as_string()));
    ASSERT_EQ(difference(bj::parse(expected), network, *block), "") << file;
    ++compared;
  }
  EXPECT_GT(compared, 3);
}

// Two chunks of preprod, every field of every transaction.
class OracleChunk : public testing::TestWithParam<const char*> {};

TEST_P(OracleChunk, EveryBlock) {
  const std::string name = GetParam();
  COFFER_REQUIRE_DATA_OR_SKIP(file, "cardano/pallas/" + name + ".chunk");
  const chain::Network network = chain::find_network("cardano", "preprod").value();
  const Bytes chunk = read_file(file, 100u << 20).value();
  std::istringstream expected(
      unpack("zcat", shared_data().value() / ("oracle/cardano/pallas-" + name + ".jsonl.gz")));
  const std::vector<Bytes> blocks = feed::split_blocks(network, chunk).value();
  std::string line;
  ASSERT_TRUE(std::getline(expected, line));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto block = chain::decode(network, blocks[i]);
    ASSERT_TRUE(block) << "block " << i << ": " << block.error().message;
    const bj::value want = line.empty() ? bj::object{{"hash", ""}} : bj::parse(line);
    // Blocks without transactions have no row.
    if (block->txs.empty() && want.at("hash").as_string() != block->hash.hex()) continue;
    ASSERT_EQ(difference(want, network, *block), "") << "block " << i;
    line.clear();
    std::getline(expected, line);
  }
  EXPECT_EQ(line, "");
}

INSTANTIATE_TEST_SUITE_P(Preprod, OracleChunk, testing::Values("01285", "01836"));

// One row of the preview oracle, as we see the transaction.
bj::value preview_row(const chain::Block& block, const chain::Tx& tx) {
  auto inputs = [](std::span<const chain::Input> list) {
    bj::array out;
    for (const chain::Input& input : list)
      out.emplace_back(fmt::format("{}#{}", to_hex({input.tx, 32}), input.index));
    return out;
  };
  auto output = [&](const chain::Output& o) {
    return bj::array{to_hex(o.address), o.amount.value, block.assets_of(o).size()};
  };
  bj::array outputs;
  for (const chain::Output& o : block.outputs_of(tx)) outputs.emplace_back(output(o));
  bj::object row = {{"b", block.number.value},
                    {"tx", tx.id.hex()},
                    {"valid", tx.valid},
                    {"in", inputs(block.inputs_of(tx))},
                    {"col", inputs(block.collateral_of(tx))},
                    {"ref", inputs(block.reference_inputs_of(tx))},
                    {"out", outputs},
                    {"fee", tx.fee.value}};
  row["colret"] = tx.collateral_return == chain::kNone
                      ? bj::value()
                      : bj::value(output(block.outputs[tx.collateral_return]));
  row["tot_col"] = tx.has_total_collateral ? bj::value(tx.total_collateral.value) : bj::value();
  return bj::parse(bj::serialize(row));  // numbers as a parser makes them
}

TEST(Oracle, EveryTransactionOfPreview) {
  COFFER_REQUIRE_DATA_OR_SKIP(archive, "cardano/preview/immutable-00000-00275.tar.xz");
  TempDir dir;
  ASSERT_EQ(::system(("tar -xJf '" + archive.string() + "' -C " + dir.path().string()).c_str()), 0);
  std::vector<std::filesystem::path> chunks;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.path()))
    if (entry.path().extension() == ".chunk") chunks.push_back(entry.path());
  std::sort(chunks.begin(), chunks.end());
  ASSERT_EQ(chunks.size(), 276u);
  std::istringstream expected(
      unpack("zcat", shared_data().value() / "oracle/preview/preview-txs.jsonl.gz"));
  const chain::Network network = chain::find_network("cardano", "preview").value();
  std::uint64_t blocks = 0;
  std::string line;
  for (const auto& file : chunks) {
    const Bytes data = read_file(file, 100u << 20).value();
    const std::vector<Bytes> raws = feed::split_blocks(network, data).value();
    for (const Bytes& raw : raws) {
      auto block = chain::decode(network, raw);
      ASSERT_TRUE(block) << file << ": " << block.error().message;
      ASSERT_EQ(block->number.value, blocks++);
      for (const chain::Tx& tx : block->txs) {
        ASSERT_TRUE(std::getline(expected, line));
        ASSERT_EQ(oracle::first_difference(bj::parse(line), preview_row(*block, tx)), "")
            << "block " << block->number.value << " " << tx.id.hex();
      }
    }
  }
  EXPECT_EQ(blocks, 54'295u);
  EXPECT_FALSE(std::getline(expected, line));
}

// Mainnet's first 600 blocks, as Core wrote them.
TEST(Oracle, FirstBlocksOfMainnet) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "bitcoin/mainnet");
  const chain::Network network = chain::find_network("bitcoin", "mainnet").value();
  std::istringstream expected(
      unpack("zcat", shared_data().value() / "oracle/bitcoin/mainnet-0-599.jsonl.gz"));
  std::map<std::string, Bytes> by_hash;
  for (const char* name : {"blk00000.dat", "blk00001.dat"}) {
    const Bytes data = read_file(directory / name, 100u << 20).value();
    std::vector<Bytes> raws = feed::split_blocks(network, data).value();
    for (Bytes& raw : raws) {
      const Hash256 hash = chain::decode(network, raw).value().hash;
      by_hash[display(chain::Family::kBitcoin, hash)] = std::move(raw);
    }
  }
  std::string line;
  int compared = 0;
  for (; std::getline(expected, line); ++compared) {
    const bj::value want = bj::parse(line);
    const auto found = by_hash.find(std::string(want.at("hash").as_string()));
    ASSERT_NE(found, by_hash.end()) << "height " << compared;
    const chain::Block block = chain::decode(network, found->second).value();
    ASSERT_EQ(difference(want, network, block), "") << "height " << compared;
  }
  EXPECT_EQ(compared, 600);
}

}  // namespace
}  // namespace coffer
