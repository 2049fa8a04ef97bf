#include "feed/file_source.h"

#include "base/random.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "feed/blkdir_source.h"
#include "feed/block_file_test_util.h"

namespace coffer::feed {
namespace {

const chain::Network kMainnet = chain::find_network("bitcoin", "mainnet").value();
const chain::Network kFileNetwork = chain::find_network("bitcoin", "regtest").value();

class Files : public testing::TestWithParam<chain::Family> {
 protected:
  const bool bitcoin_ = GetParam() == chain::Family::kBitcoin;
  const chain::Network network_ =
      chain::find_network(bitcoin_ ? "bitcoin" : "cardano", "devnet").value();
  TempDir dir_;
};

TEST_P(Files, ShuffledOverFilesOfEveryFormatComeInChainOrder) {
  Made made = make(GetParam(), 300);
  Rng rng(3);
  std::shuffle(made.blocks.begin(), made.blocks.end(), rng);
  Bytes packed, hex;
  for (std::size_t i = 0; i < made.blocks.size(); ++i) {
    if (i % 3 == 0)
      append_block(packed, network_, bitcoin_ ? BlockFileFormat::kBlk : BlockFileFormat::kRaw,
                   made.blocks[i]);
    else if (i % 3 == 1)
      append_block(hex, network_, BlockFileFormat::kHex, made.blocks[i]);
    else
      write(dir_.path() / fmt::format("{}.raw", i), made.blocks[i]);
  }
  write(dir_.path() / "packed", packed);
  write(dir_.path() / "lines.hex", hex);
  FileSource source(dir_.path(), network_);
  EXPECT_FALSE(source.tip_number());
  EXPECT_EQ(source.intersect({}).value(), chain::Point::origin());
  EXPECT_EQ(follow(source, network_), made.best);
  EXPECT_LT(made.best.size(), made.blocks.size());
  ASSERT_TRUE(source.tip_number());

  // Any block of the chain is a place to go on from; one that is not there is passed over.
  const std::vector<chain::Point> points = {{Slot(7), Hash256::from(made.blocks[0].data())},
                                            {Slot(100), made.best[100]},
                                            {Slot(50), made.best[50]}};
  EXPECT_EQ(source.intersect(points).value(), points[1]);
  EXPECT_EQ(follow(source, network_), std::vector(made.best.begin() + 101, made.best.end()));
}

// Lines and blocks that end at, before and after the edge of what is read at once, and a last line
// without an end.
TEST_P(Files, LongHexFilesAreReadInPieces) {
  const Made made = make(GetParam(), 900);
  Bytes hex, raw;
  for (const Bytes& block : made.blocks) {
    append_block(hex, network_, BlockFileFormat::kHex, block);
    hex.push_back('\r');
    if (!bitcoin_) append_block(raw, network_, BlockFileFormat::kRaw, block);
  }
  while (hex.back() == '\r' || hex.back() == '\n') hex.pop_back();
  ASSERT_GT(hex.size(), 1'000'000u);
  write(dir_.path() / "lines.hex", hex);
  FileSource source(dir_.path() / "lines.hex", network_);
  EXPECT_EQ(follow(source, network_), made.best);
  if (bitcoin_) return;
  write(dir_.path() / "raw", raw);
  FileSource packed(dir_.path() / "raw", network_);
  EXPECT_EQ(follow(packed, network_), made.best);
}

TEST_P(Files, NamesTheMissingBlock) {
  Made made = make(GetParam(), 30);
  const auto lost = chain::decode(network_, made.blocks[10]).value();
  made.blocks.erase(made.blocks.begin() + 10);
  Bytes hex;
  for (const Bytes& block : made.blocks) append_block(hex, network_, BlockFileFormat::kHex, block);
  write(dir_.path() / "lines.hex", hex);
  FileSource source(dir_.path() / "lines.hex", network_);
  auto met = source.intersect({});
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, Code::kInvalidInput);
  EXPECT_NE(met.error().message.find(chain::display(GetParam(), lost.hash)), std::string::npos)
      << met.error().message;
  EXPECT_NE(met.error().message.find("lines.hex"), std::string::npos);
}

TEST_P(Files, ContinuesAfterBlockThatOnlyTheReaderHas) {
  DevnetChain devnet({.family = GetParam(), .seed = 4, .reorg_every = 0});
  Bytes hex;
  for (int i = 0; i < 40; ++i) {
    const Emission emission = devnet.next();
    if (i >= 20) append_block(hex, network_, BlockFileFormat::kHex, emission.block);
  }
  write(dir_.path() / "later.hex", hex);
  FileSource source(dir_.path(), network_);
  EXPECT_FALSE(source.intersect({}));
  const chain::Point have{Slot(bitcoin_ ? 19 : 19 * kDevnetSlotsPerBlock), devnet.best()[19]};
  EXPECT_EQ(source.intersect(std::span(&have, 1)).value(), have);
  EXPECT_EQ(follow(source, network_).size(), 20u);
  EXPECT_FALSE(source.intersect({})) << "what comes before it is still not there";
}

// The points of a reader far ahead are few: the block before the set's first need not be among
// them.
TEST_P(Files, ContinuesWithinSetWithoutFirstBlocks) {
  DevnetChain devnet({.family = GetParam(), .seed = 4, .reorg_every = 0});
  std::vector<chain::Point> stored;
  Bytes hex;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const Emission emission = devnet.next();
    const IndexedBlock header = read_header(network_, emission.block).value();
    stored.push_back({Slot(bitcoin_ ? i : header.slot), header.hash});
    if (i >= 20) append_block(hex, network_, BlockFileFormat::kHex, emission.block);
  }
  write(dir_.path() / "later.hex", hex);
  FileSource source(dir_.path(), network_);
  const chain::Point locator[] = {stored[45], stored[30], stored[7], stored[0]};
  EXPECT_EQ(source.intersect(locator).value(), stored[45]);
  EXPECT_EQ(follow(source, network_).size(), 14u);
  EXPECT_EQ(source.tip_number(), 59u);
  // A lower consumer is served as well, as far down as the files go.
  EXPECT_EQ(source.intersect(std::span(locator).subspan(1)).value(), stored[30]);
  EXPECT_EQ(follow(source, network_).size(), 29u);
  EXPECT_FALSE(source.intersect(std::span(locator).subspan(2)));
}

TEST_P(Files, RubbishIsNamedWithFileAndOffset) {
  Made made = make(GetParam(), 5);
  Bytes data;
  append_block(data, network_, bitcoin_ ? BlockFileFormat::kBlk : BlockFileFormat::kRaw,
               made.blocks[0]);
  const std::size_t end = data.size();
  for (int i = 0; i < 100; ++i) data.push_back(0xff);
  write(dir_.path() / "bad", data);
  FileSource source(dir_.path(), network_);
  auto met = source.intersect({});
  ASSERT_FALSE(met);
  EXPECT_NE(met.error().message.find(fmt::format("byte {} of", end)), std::string::npos)
      << met.error().message;
}

TEST_P(Files, MissingFiles) {
  FileSource none(dir_.path() / "none", network_), empty(dir_.path(), network_);
  EXPECT_EQ(none.intersect({}).error().code, Code::kNotFound);
  EXPECT_EQ(empty.intersect({}).error().code, Code::kInvalidInput);
}

TEST_P(Files, StopEndsReading) {
  write(dir_.path() / "a", make(GetParam(), 5).blocks[0]);
  FileSource source(dir_.path(), network_);
  source.interrupt();
  EXPECT_EQ(source.next(0).error().code, Code::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(Families, Files,
                         testing::Values(chain::Family::kBitcoin, chain::Family::kCardano),
                         testing::PrintToStringParamName());

TEST(FilesOfMainnet, AreServedFromDirectoryAndBlocksDirectory) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "bitcoin/mainnet");
  FileSource file(data, kMainnet);
  const auto chain = follow(file, kMainnet);
  EXPECT_EQ(chain.size(), 600u);
  EXPECT_EQ(chain.front(), kMainnet.genesis);
  EXPECT_EQ(file.tip_number(), 599u);
  BlkDirSource blkdir(data, kMainnet, system_clock(), {.follow = false});
  EXPECT_EQ(follow(blkdir, kMainnet), chain);
}

TEST(FilesOfMainnet, ReorgIsFollowedToTheBranchWithMoreWork) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "bitcoin/reorg");
  TempDir dir;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    names.push_back(entry.path().stem().string());
    const std::string command = fmt::format("bzcat '{}' > '{}'", entry.path().string(),
                                            (dir.path() / names.back()).string());
    ASSERT_EQ(::system(command.c_str()), 0);
  }
  ASSERT_EQ(names.size(), 4u);
  FileSource source(dir.path(), kMainnet);
  const auto chain = follow(source, kMainnet);
  ASSERT_EQ(chain.size(), 6u);  // 0, 1, 2, 3A, 4A, 5A
  std::filesystem::remove(dir.path() / "blk_5A.dat");
  FileSource before(dir.path(), kMainnet);
  const auto old_chain = follow(before, kMainnet);
  ASSERT_EQ(old_chain.size(), 5u);  // 4 and 4A weigh the same: the first one stays
  EXPECT_EQ(old_chain[2], chain[2]);
  EXPECT_NE(old_chain[3], chain[3]);
}

TEST(FilesOfRegtest, StartAfterTheGenesisBlockThatEveryNodeHas) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "bitcoin/regtest/kernel_regtest_blocks_1_to_206.hex");
  FileSource source(data, kFileNetwork);
  const auto chain = follow(source, kFileNetwork);
  EXPECT_EQ(chain.size(), 207u);
  EXPECT_EQ(chain.front(), kFileNetwork.genesis);
}

TEST(FilesOfMainnet, UnrelatedBlocksAreRefused) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "bitcoin/blocks/block_170.bin");
  FileSource source(data, kMainnet);
  EXPECT_NE(source.intersect({}).error().message.find("is missing"), std::string::npos);
}

}  // namespace
}  // namespace coffer::feed
