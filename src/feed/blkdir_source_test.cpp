#include "feed/blkdir_source.h"

#include <thread>

#include "base/random.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "feed/block_file_test_util.h"

namespace coffer::feed {
namespace {

const chain::Network kRegtest = chain::find_network("bitcoin", "regtest").value();

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
TEST_F(BlkDir, FollowsGrowingFiles) {
  DevnetChain one({.seed = 1, .txs_per_block = 3, .reorg_every = 0});
  std::vector<Bytes> blocks;
  blocks.reserve(40);
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

TEST_F(BlkDir, SkipsRubbishBetweenBlocks) {
  Made made = make(chain::Family::kBitcoin, 20);
  Bytes data = blk(kRegtest, {made.blocks.begin(), made.blocks.begin() + 10});
  for (int i = 0; i < 3000; ++i) data.push_back(static_cast<std::uint8_t>(i * 7 + 1));
  append(data, blk(kRegtest, {made.blocks.begin() + 10, made.blocks.end()}));
  write(file(0), data);
  BlkDirSource source(dir_.path(), kRegtest, system_clock(), {.follow = false});
  EXPECT_EQ(follow(source, kRegtest), made.best);
}

TEST_F(BlkDir, ErrorsNameTheCause) {
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

TEST_F(BlkDir, PrunedDirectoryIsTakenByAReaderWithinIt) {
  DevnetChain devnet({.seed = 4, .reorg_every = 0});
  std::vector<Bytes> blocks;
  blocks.reserve(60);
  for (int i = 0; i < 60; ++i) blocks.push_back(devnet.next().block);
  write(file(7), blk(kRegtest, {blocks.begin() + 20, blocks.end()}));
  BlkDirSource source(dir_.path(), kRegtest, system_clock(), {.follow = false});
  const chain::Point locator[] = {{Slot(45), devnet.best()[45]}, {Slot(3), devnet.best()[3]}};
  EXPECT_EQ(source.intersect(locator).value(), locator[0]);
  EXPECT_EQ(source.tip_number(), 59u);
  EXPECT_EQ(follow(source, kRegtest), std::vector(devnet.best().begin() + 46, devnet.best().end()));
}

TEST_F(BlkDir, InterruptEndsAWait) {
  write(file(0), blk(kRegtest, make(chain::Family::kBitcoin, 3).blocks));
  BlkDirSource source(dir_.path(), kRegtest, system_clock(), {.poll_ms = 60'000});
  follow(source, kRegtest);
  std::thread other([&] { source.interrupt(); });
  EXPECT_EQ(source.next(60'000).error().code, Code::kCancelled);
  other.join();
}

// After Bitcoin Core was killed it writes again from where it had last synced, over blocks that
// were read already. The file keeps what stood behind.
class RewrittenBlkDir : public testing::TestWithParam<bool> {
 protected:
  struct Branches {
    std::vector<Bytes> old_blocks, new_blocks;  // from the genesis block on
    std::vector<Hash256> old_hashes, new_hashes;
  };
  // They share the blocks below `common`. Unless varied, most blocks are of one size.
  static Branches branches(std::size_t common, std::size_t old_size, std::size_t new_size,
                           std::uint64_t seed, bool varied = true) {
    const auto flavour = make_bitcoin_flavour();
    const auto genesis = flavour->genesis_block().value();
    Branches made;
    made.old_blocks = made.new_blocks = {genesis.raw};
    made.old_hashes = made.new_hashes = {genesis.hash};
    Rng rng(seed);
    const auto mine = [&](std::vector<Bytes>& blocks, std::vector<Hash256>& hashes) {
      BlockPlan plan;
      plan.height = blocks.size();
      plan.prev = hashes.back();
      plan.unix_s = 1'500'000'000 + plan.height * 600;
      plan.nonce = rng();
      for (std::uint64_t i = varied ? rng.below(3) : 0; i > 0; --i) {
        TxPlan tx;
        tx.inputs = {DevCoin{.outpoint = {Hash256{}, static_cast<std::uint32_t>(i)}}};
        tx.outputs.assign(rng.between(1, 20), DevCoin{.value = 5'000});
        plan.txs.push_back(std::make_shared<const DevTx>(flavour->build(tx, rng)));
      }
      const BuiltBlock block = flavour->build_block(plan);
      blocks.push_back(block.raw);
      hashes.push_back(block.hash);
    };
    while (made.old_blocks.size() < common) mine(made.old_blocks, made.old_hashes);
    made.new_blocks = made.old_blocks;
    made.new_hashes = made.old_hashes;
    while (made.old_blocks.size() < old_size) mine(made.old_blocks, made.old_hashes);
    while (made.new_blocks.size() < new_size) mine(made.new_blocks, made.new_hashes);
    return made;
  }

  void SetUp() override {
    if (GetParam()) write(dir_.path() / "xor.dat", key_);
  }
  // As Core writes: from that offset on, over what is there.
  void put(std::size_t offset, Bytes data) {
    if (GetParam()) apply_key(data, key_, offset);
    if (!std::filesystem::exists(path_)) write(path_, {});
    std::fstream out(path_, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(offset));
    out.write(reinterpret_cast<const char*>(data.data()),
              static_cast<std::streamsize>(data.size()));
    ASSERT_TRUE(out.good());
  }
  static Bytes tail(const std::vector<Bytes>& blocks, std::size_t from) {
    return blk(kRegtest, {blocks.begin() + static_cast<std::ptrdiff_t>(from), blocks.end()});
  }
  static std::size_t size_of(const std::vector<Bytes>& blocks, std::size_t count) {
    return blk(kRegtest, {blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(count)})
        .size();
  }

  TempDir dir_;
  const std::filesystem::path path_ = dir_.path() / "blk00000.dat";
  const Bytes key_ = {0x11, 0x92, 0xa3, 0x04, 0xf5, 0x66, 0x07, 0x88};
  BlkDirSource source_{dir_.path(), kRegtest, system_clock(), {.poll_ms = 0}};
};

TEST_P(RewrittenBlkDir, LongerBranchOverTheTailIsFollowed) {
  const Branches made = branches(10, 20, 25, 1);
  put(0, tail(made.old_blocks, 0));
  auto chain = follow(source_, kRegtest);
  ASSERT_EQ(chain, made.old_hashes);
  put(size_of(made.old_blocks, 10), tail(made.new_blocks, 10));
  int backwards = 0;
  chain = follow(source_, kRegtest, chain, &backwards);
  EXPECT_EQ(chain, made.new_hashes);
  EXPECT_EQ(backwards, 1);
  EXPECT_EQ(source_.tip_number(), 24u);
}

// What stands behind the rewritten blocks are whole old blocks and pieces of them.
TEST_P(RewrittenBlkDir, FewBlocksBeforeWhatIsLeftOfTheOldOnes) {
  const Branches made = branches(10, 20, 30, 2);
  put(0, tail(made.old_blocks, 0));
  auto chain = follow(source_, kRegtest);
  std::size_t at = size_of(made.old_blocks, 10);
  for (std::size_t height = 10; height < 30; ++height) {
    put(at, blk(kRegtest, {made.new_blocks[height]}));
    at += made.new_blocks[height].size() + 8;
    chain = follow(source_, kRegtest, chain);
    // The old branch is broken with its first block, so the new one is the best from then on.
    ASSERT_EQ(chain, std::vector(made.new_hashes.begin(),
                                 made.new_hashes.begin() + static_cast<std::ptrdiff_t>(height) + 1))
        << height;
  }
}

TEST_P(RewrittenBlkDir, SameBlocksInAnotherOrderNeedNoRollback) {
  Branches made = branches(20, 40, 40, 3, false);
  put(0, tail(made.old_blocks, 0));
  auto chain = follow(source_, kRegtest);
  ASSERT_EQ(chain, made.old_hashes);
  // All are of one size, and the last one stays where it was.
  std::vector<Bytes> shuffled = made.old_blocks;
  Rng rng(3);
  std::shuffle(shuffled.begin() + 20, shuffled.end() - 1, rng);
  put(size_of(shuffled, 20), tail(shuffled, 20));
  int backwards = 0;
  EXPECT_EQ(follow(source_, kRegtest, chain, &backwards), made.old_hashes);
  EXPECT_EQ(backwards, 0);
  // Who asks for them again gets them from their new places.
  EXPECT_TRUE(source_.intersect({}).value().is_origin());
  EXPECT_EQ(follow(source_, kRegtest), made.old_hashes);
}

TEST_P(RewrittenBlkDir, HalfOfABlockIsWaitedFor) {
  const Branches made = branches(10, 20, 21, 4);
  put(0, tail(made.old_blocks, 0));
  // Core was killed in the middle of one more, and later begins anew before that.
  Bytes half = blk(kRegtest, {made.new_blocks[20]});
  half.resize(half.size() / 2);
  const std::size_t end = size_of(made.old_blocks, 20);
  put(end, half);
  auto chain = follow(source_, kRegtest);
  ASSERT_EQ(chain, made.old_hashes);
  const Bytes rewritten = tail(made.new_blocks, 10);
  const std::size_t start = size_of(made.old_blocks, 10);
  for (std::size_t have = 0; have < rewritten.size(); have += 37) {
    put(start, Bytes(rewritten.begin(), rewritten.begin() + static_cast<std::ptrdiff_t>(have)));
    chain = follow(source_, kRegtest, chain);
    ASSERT_LE(chain.size(), made.new_hashes.size());
    ASSERT_FALSE(testing::Test::HasFailure()) << have;
  }
  put(start, rewritten);
  EXPECT_EQ(follow(source_, kRegtest, chain), made.new_hashes);
}

TEST_P(RewrittenBlkDir, ShortenedOrReplacedFileIsReadAgain) {
  const Branches made = branches(10, 20, 22, 5);
  put(0, tail(made.old_blocks, 0));
  auto chain = follow(source_, kRegtest);
  std::filesystem::resize_file(path_, size_of(made.old_blocks, 12) - 3);
  chain = follow(source_, kRegtest, chain);
  EXPECT_EQ(chain, std::vector(made.old_hashes.begin(), made.old_hashes.begin() + 11));
  std::filesystem::remove(path_);
  put(0, tail(made.new_blocks, 0));
  EXPECT_EQ(follow(source_, kRegtest, chain), made.new_hashes);
}

// A block that is written once more elsewhere is found there when its first place is overwritten.
TEST_P(RewrittenBlkDir, SecondCopyOfABlockIsUsed) {
  const Branches made = branches(10, 20, 25, 6);
  put(0, tail(made.old_blocks, 0));
  Bytes copies = tail(made.old_blocks, 10);
  if (GetParam()) apply_key(copies, key_);
  write(dir_.path() / "blk00001.dat", copies);
  auto chain = follow(source_, kRegtest);
  ASSERT_EQ(chain, made.old_hashes);
  put(size_of(made.old_blocks, 10), blk(kRegtest, {made.new_blocks[10]}));
  int backwards = 0;
  EXPECT_EQ(follow(source_, kRegtest, chain, &backwards), made.old_hashes);
  EXPECT_EQ(backwards, 0);
  EXPECT_TRUE(source_.intersect({}).value().is_origin());
  EXPECT_EQ(follow(source_, kRegtest), made.old_hashes);
}

TEST_P(RewrittenBlkDir, AnyRewritingEndsOnTheBranchWithMoreWork) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int round = 0; round < 40; ++round) {
    std::filesystem::remove(path_);
    const std::size_t common = rng.between(1, 12), old_size = common + rng.between(1, 15);
    const Branches made = branches(common, old_size, old_size + rng.between(1, 15), rng());
    BlkDirSource source(dir_.path(), kRegtest, system_clock(), {.poll_ms = 0});
    put(0, tail(made.old_blocks, 0));
    if (rng.one_in(2)) put(size_of(made.old_blocks, old_size), Bytes(20'000, 0));
    auto chain = follow(source, kRegtest);
    ASSERT_EQ(chain, made.old_hashes);
    // Of the old blocks it may get some again, anywhere; of the common ones it lost some.
    const std::size_t from = rng.between(1, common);
    std::vector<Bytes> rewritten(made.new_blocks.begin() + static_cast<std::ptrdiff_t>(from),
                                 made.new_blocks.end());
    for (std::size_t i = common; i < old_size; ++i)
      if (rng.one_in(3)) rewritten.push_back(made.old_blocks[i]);
    std::shuffle(rewritten.begin(), rewritten.end(), rng);
    const Bytes bytes = blk(kRegtest, rewritten);
    const std::size_t start = size_of(made.old_blocks, from);
    for (std::size_t have = 0; have < bytes.size();) {
      const std::size_t piece = std::min<std::size_t>(bytes.size() - have, rng.between(1, 900));
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(have);
      put(start + have, Bytes(begin, begin + static_cast<std::ptrdiff_t>(piece)));
      have += piece;
      chain = follow(source, kRegtest, chain);
      ASSERT_FALSE(testing::Test::HasFailure()) << round;
    }
    ASSERT_EQ(chain, made.new_hashes) << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Key, RewrittenBlkDir, testing::Values(false, true),
                         [](const auto& key) { return key.param ? "Obfuscated" : "Plain"; });

}  // namespace
}  // namespace coffer::feed
