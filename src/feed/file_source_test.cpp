#include "feed/file_source.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/random.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "chain/decode.h"
#include "feed/blkdir_source.h"
#include "feed/devnet_chain.h"

namespace coffer::feed {
namespace {

void write(const std::filesystem::path& path, ByteView data,
           std::ios::openmode mode = std::ios::trunc) {
  std::ofstream out(path, std::ios::binary | std::ios::out | mode);
  out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  ASSERT_TRUE(out.good());
}

Bytes blk(const chain::Network& network, const std::vector<Bytes>& blocks) {
  Bytes out;
  for (const Bytes& block : blocks) append_block(out, network, BlockFileFormat::kBlk, block);
  return out;
}

void apply_key(Bytes& data, ByteView key, std::size_t offset = 0) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] ^= key[(offset + i) % key.size()];
}

// Everything up to End or Idle, as hashes of the chain that the reader ends with.
std::vector<Hash256> follow(Source& source, const chain::Network& network,
                            std::vector<Hash256> chain = {}, int* backwards = nullptr) {
  for (;;) {
    auto step = source.next(0);
    EXPECT_TRUE(step) << step.error().message;
    if (!step || std::holds_alternative<End>(*step) || std::holds_alternative<Idle>(*step)) break;
    if (auto* back = std::get_if<Backward>(&*step)) {
      while (!chain.empty() && chain.back() != back->to.hash) chain.pop_back();
      if (backwards != nullptr) ++*backwards;
      continue;
    }
    auto block = chain::decode(network, std::get<Forward>(*step).raw);
    EXPECT_TRUE(block) << block.error().message;
    if (!block) break;
    if (!chain.empty()) {
      EXPECT_EQ(block->prev, chain.back());
    }
    chain.push_back(block->hash);
  }
  return chain;
}

const chain::Network kMainnet = chain::find_network("bitcoin", "mainnet").value();
const chain::Network kRegtest = chain::find_network("bitcoin", "regtest").value();

struct Made {
  std::vector<Bytes> blocks;  // stale ones too
  std::vector<Hash256> best;
};

Made make(chain::Family family, std::size_t count, std::uint64_t seed = 5) {
  DevnetChain devnet({.family = family, .seed = seed, .txs_per_block = 3, .reorg_every = 8});
  Made made;
  std::size_t longest = 0;
  // Ends when a branch has just become the longest, so that the best chain is not a tie.
  while (made.blocks.size() < count || devnet.best().size() <= longest) {
    longest = std::max(longest, devnet.best().size());
    made.blocks.push_back(devnet.next().block);
  }
  made.best = devnet.best();
  return made;
}

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

TEST_P(Files, SaysWhichBlockIsMissing) {
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

TEST_P(Files, GoesOnAfterABlockThatOnlyTheReaderHas) {
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

TEST_P(Files, NothingThere) {
  FileSource none(dir_.path() / "none", network_), empty(dir_.path(), network_);
  EXPECT_EQ(none.intersect({}).error().code, Code::kNotFound);
  EXPECT_EQ(empty.intersect({}).error().code, Code::kInvalidInput);
}

TEST_P(Files, StopsWhenAsked) {
  write(dir_.path() / "a", make(GetParam(), 5).blocks[0]);
  FileSource source(dir_.path(), network_);
  source.interrupt();
  EXPECT_EQ(source.next(0).error().code, Code::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(Families, Files,
                         testing::Values(chain::Family::kBitcoin, chain::Family::kCardano));

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

TEST(FilesOfMainnet, AReorgIsFollowedToTheBranchWithMoreWork) {
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
  FileSource source(data, kRegtest);
  const auto chain = follow(source, kRegtest);
  EXPECT_EQ(chain.size(), 207u);
  EXPECT_EQ(chain.front(), kRegtest.genesis);
}

TEST(FilesOfMainnet, UnrelatedBlocksAreRefused) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "bitcoin/blocks/block_170.bin");
  FileSource source(data, kMainnet);
  EXPECT_NE(source.intersect({}).error().message.find("is missing"), std::string::npos);
}

class BlkDir : public testing::Test {
 protected:
  std::filesystem::path file(int n) const { return dir_.path() / fmt::format("blk{:05}.dat", n); }
  TempDir dir_;
  const Bytes key_ = {0x11, 0x92, 0xa3, 0x04, 0xf5, 0x66, 0x07, 0x88};
};

TEST_F(BlkDir, ReadsObfuscatedFilesWithPreallocatedRoom) {
  Made made = make(chain::Family::kBitcoin, 200);
  Rng rng(9);
  std::shuffle(made.blocks.begin() + 1, made.blocks.end(), rng);
  write(dir_.path() / "xor.dat", key_);
  for (int n = 0; n < 2; ++n) {
    const auto middle = made.blocks.begin() + static_cast<std::ptrdiff_t>(made.blocks.size() / 2);
    Bytes data = blk(kRegtest, n == 0 ? std::vector(made.blocks.begin(), middle)
                                      : std::vector(middle, made.blocks.end()));
    apply_key(data, key_);
    data.resize(data.size() + 100'000);
    write(file(n), data);
  }
  BlkDirSource source(dir_.path(), kRegtest, system_clock());
  EXPECT_EQ(follow(source, kRegtest), made.best);
}

// Core writes on: in pieces, into preallocated room, into a new file, and finally another branch.
TEST_F(BlkDir, FollowsWhatIsBeingWritten) {
  DevnetChain one({.seed = 1, .txs_per_block = 3, .reorg_every = 0});
  std::vector<Bytes> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(one.next().block);
  const Bytes all = blk(kRegtest, blocks);
  const std::size_t room = all.size() + 5000;
  ManualClock clock(1'800'000'000'000);
  BlkDirSource source(dir_.path(), kRegtest, clock, {.poll_ms = 1000});
  std::vector<Hash256> chain;
  Rng rng(4);
  write(dir_.path() / "xor.dat", key_);
  for (std::size_t have = 0; have < all.size();) {
    have = std::min<std::size_t>(all.size(), have + rng.between(1, 900));
    Bytes data(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(have));
    apply_key(data, key_);
    data.resize(rng.one_in(2) ? room : have);
    write(file(0), data);
    clock.advance_ms(1000);
    chain = follow(source, kRegtest, chain);
    ASSERT_LE(chain.size(), one.best().size());
    ASSERT_TRUE(std::equal(chain.begin(), chain.end(), one.best().begin()));
  }
  ASSERT_EQ(chain, one.best());

  // A branch from the genesis block in a new file: nothing until it has more work.
  DevnetChain two({.seed = 2, .txs_per_block = 3, .reorg_every = 0});
  two.next();
  int backwards = 0;
  for (std::size_t i = 1; i < 42; ++i) {
    Bytes data = blk(kRegtest, {two.next().block});
    std::error_code none;
    const auto size = std::filesystem::file_size(file(1), none);
    apply_key(data, key_, none ? 0 : size);
    write(file(1), data, std::ios::app);
    clock.advance_ms(1000);
    chain = follow(source, kRegtest, chain, &backwards);
    ASSERT_EQ(chain, i < 40 ? one.best() : two.best()) << i;
  }
  EXPECT_EQ(backwards, 1);
  EXPECT_EQ(source.tip_number(), 41u);
}

TEST_F(BlkDir, PassesOverRubbishBetweenBlocks) {
  Made made = make(chain::Family::kBitcoin, 20);
  Bytes data = blk(kRegtest, {made.blocks.begin(), made.blocks.begin() + 10});
  for (int i = 0; i < 3000; ++i) data.push_back(static_cast<std::uint8_t>(i * 7 + 1));
  append(data, blk(kRegtest, {made.blocks.begin() + 10, made.blocks.end()}));
  write(file(0), data);
  BlkDirSource source(dir_.path(), kRegtest, system_clock(), {.follow = false});
  EXPECT_EQ(follow(source, kRegtest), made.best);
}

TEST_F(BlkDir, SaysWhatIsWrong) {
  BlkDirSource empty(dir_.path(), kRegtest, system_clock());
  EXPECT_EQ(empty.intersect({}).error().code, Code::kInvalidInput);
  const Made made = make(chain::Family::kBitcoin, 20);
  write(file(0), blk(kRegtest, {made.blocks.begin() + 3, made.blocks.end()}));
  BlkDirSource pruned(dir_.path(), kRegtest, system_clock());
  EXPECT_NE(pruned.intersect({}).error().message.find("is missing"), std::string::npos);
  write(dir_.path() / "xor.dat", Bytes(5, 1));
  BlkDirSource bad_key(dir_.path(), kRegtest, system_clock());
  EXPECT_EQ(bad_key.intersect({}).error().code, Code::kInvalidInput);
}

TEST_F(BlkDir, InterruptEndsAWait) {
  write(file(0), blk(kRegtest, make(chain::Family::kBitcoin, 3).blocks));
  BlkDirSource source(dir_.path(), kRegtest, system_clock(), {.poll_ms = 60'000});
  follow(source, kRegtest);
  std::thread other([&] { source.interrupt(); });
  EXPECT_EQ(source.next(60'000).error().code, Code::kCancelled);
  other.join();
}

}  // namespace
}  // namespace coffer::feed
