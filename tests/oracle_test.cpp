// Real blocks against the answers of an independent implementation.
#include "oracle.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <sstream>

#include "base/file.h"
#include "base/test_data.h"
#include "chain/decode.h"
#include "cli/block_json.h"

namespace coffer {
namespace {

namespace json = boost::json;

std::string unpack(const char* program, const std::filesystem::path& file) {
  std::FILE* pipe = ::popen((std::string(program) + " '" + file.string() + "'").c_str(), "r");
  std::string out;
  std::array<char, 65536> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), got);
  EXPECT_EQ(::pclose(pipe), 0) << file;
  return out;
}

Bytes block_bytes(const std::filesystem::path& file, std::size_t size) {
  Bytes data = read_file(file, 100u << 20).value();
  std::string text(as_text(data));
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  if (auto decoded = from_hex(text)) data = std::move(*decoded);
  if (data.size() > size) data.resize(size);  // one file holds its block twice
  return data;
}

json::value shown(const chain::Network& network, const chain::Block& block) {
  return json::parse(cli::block_json(network, block, true));  // decode() has verified it
}

TEST(Oracle, EverySingleCardanoBlock) {
  COFFER_REQUIRE_DATA_OR_SKIP(index, "oracle/cardano/INDEX.json");
  const auto data = shared_data().value();
  const chain::Network network = chain::find_network("cardano", "preprod").value();
  int compared = 0;
  const json::value rows = json::parse(as_text(read_file(index, 100u << 20).value()));
  for (const json::value& row : rows.as_array()) {
    const std::string file(row.at("file").as_string());
    const auto expected =
        read_file(data / "oracle/cardano" / std::string(row.at("oracle").as_string()), 100u << 20)
            .value();
    auto block =
        chain::decode(network, block_bytes(data / file, row.at("size").to_number<std::size_t>()));
    ASSERT_TRUE(block) << file << ": " << block.error().message;
    ASSERT_EQ(oracle::first_difference(json::parse(as_text(expected)), shown(network, *block)), "")
        << file;
    ++compared;
  }
  EXPECT_EQ(compared, 66);
}

TEST(Oracle, TheRegtestRunOfEveryOutputType) {
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
    ASSERT_EQ(oracle::first_difference(json::parse(line), shown(network, *block)), "")
        << "height " << height;
  }
  EXPECT_FALSE(std::getline(expected, line));
}

TEST(Oracle, SingleBitcoinBlocks) {
  COFFER_REQUIRE_DATA_OR_SKIP(index, "oracle/bitcoin/INDEX.json");
  const auto data = shared_data().value();
  const chain::Network network = chain::find_network("bitcoin", "mainnet").value();
  int compared = 0;
  const json::value rows = json::parse(as_text(read_file(index, 100u << 20).value()));
  for (const json::value& row : rows.at("blocks").as_array()) {
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
    ASSERT_EQ(oracle::first_difference(json::parse(expected), shown(network, *block)), "") << file;
    ++compared;
  }
  EXPECT_GT(compared, 3);
}

}  // namespace
}  // namespace coffer
