// A chain that comes in several files, one sync after the other: each goes on where the store is.
#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "feed/block_file.h"
#include "feed/devnet_chain.h"
#include "support/process.h"

namespace coffer {
namespace {

using feed::BlockFileFormat;
using test::expect_refusal;
using test::Finished;

class SyncFiles : public testing::Test {
 protected:
  void use(const char* chain, const char* network, std::vector<Bytes> blocks) {
    network_ = chain::find_network(chain, network).value();
    blocks_ = std::move(blocks);
  }
  // The blocks from one height up to before another, as a file.
  std::string part(std::size_t from, std::size_t to) {
    Bytes data;
    for (std::size_t i = from; i < to; ++i)
      feed::append_block(data, network_,
                         network_.family == chain::Family::kBitcoin ? BlockFileFormat::kBlk
                                                                    : BlockFileFormat::kRaw,
                         blocks_[i]);
    const auto path = dir_.path() / fmt::format("{}-{}.blocks", from, to);
    EXPECT_TRUE(write_file_atomically(path, data, {.sync = false}));
    return path.string();
  }
  Finished sync(const std::string& data, const std::string& file,
                std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"sync",
                                          "--log-level",
                                          "off",
                                          "--chain",
                                          std::string(network_.chain_name()),
                                          "--network",
                                          network_.name,
                                          "--data",
                                          (dir_.path() / data).string(),
                                          "--source",
                                          "file:" + file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run(arguments);
  }
  // What sync says in the end: tip, totals and digest.
  static std::string end_of(const Finished& end) {
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  }

  void expect_that_parts_make_the_whole() {
    const std::size_t all = blocks_.size(), middle = all * 3 / 4, early = all / 8;
    const std::string whole = end_of(sync("whole", part(0, all)));
    ASSERT_NE(whole.find("digest"), std::string::npos) << whole;
    // The second file's first block follows the store's last.
    const std::string first = end_of(sync("parts", part(0, middle)));
    EXPECT_NE(first, whole);
    EXPECT_EQ(end_of(sync("parts", part(middle, all))), whole);
    EXPECT_EQ(end_of(sync("parts", part(middle, all))), whole) << "the same file again";
    EXPECT_EQ(end_of(sync("parts", part(0, middle))), whole) << "an earlier one";
    // The second file begins far below the store's last block.
    ASSERT_EQ(end_of(sync("overlap", part(0, middle))), first);
    EXPECT_EQ(end_of(sync("overlap", part(early, all))), whole);
    // A file whose middle the store has reached, and the store is at its first block alone.
    end_of(sync("to", part(0, all), {"--to", std::to_string(early)}));
    EXPECT_EQ(end_of(sync("to", part(early - 2, all))), whole);
    end_of(sync("one", part(0, 1)));
    EXPECT_EQ(end_of(sync("one", part(1, all))), whole);
    // A block is missing between: it is named, and the store stays as it is.
    const std::string before = end_of(sync("gap", part(0, middle)));
    const Finished gap = sync("gap", part(middle + 1, all));
    EXPECT_EQ(gap.exit_code, 1);
    EXPECT_NE(gap.err.find("is missing"), std::string::npos) << gap.err;
    EXPECT_EQ(end_of(sync("gap", part(middle, all))), whole);
  }

  TempDir dir_;
  chain::Network network_;
  std::vector<Bytes> blocks_;
};

TEST_F(SyncFiles, BitcoinContinuesWithLaterFile) {
  feed::DevnetChain devnet({.seed = 11, .txs_per_block = 3, .reorg_every = 0});
  std::vector<Bytes> blocks;
  blocks.reserve(400);
  for (int i = 0; i < 400; ++i) blocks.push_back(devnet.next().block);
  use("bitcoin", "regtest", std::move(blocks));
  expect_that_parts_make_the_whole();
}

TEST_F(SyncFiles, CardanoContinuesWithLaterFile) {
  COFFER_REQUIRE_DATA_OR_SKIP(archive, "cardano/preview/immutable-00000-00275.tar.xz");
  test::Process tar(
      {"tar", "-C", dir_.path().string(), "-xf", archive.string(), "00000.chunk", "00001.chunk"});
  ASSERT_EQ(tar.wait().value().exit_code, 0) << tar.err();
  const chain::Network preview = chain::find_network("cardano", "preview").value();
  std::vector<Bytes> blocks;
  for (const char* name : {"00000.chunk", "00001.chunk"}) {
    const Bytes chunk = read_file(dir_.path() / name, 64u << 20).value();
    std::vector<Bytes> more = feed::split_blocks(preview, chunk).value();
    blocks.insert(blocks.end(), more.begin(), more.end());
  }
  ASSERT_EQ(blocks.size(), 432u);
  use("cardano", "preview", std::move(blocks));
  expect_that_parts_make_the_whole();
}

}  // namespace
}  // namespace coffer
