#include "feed/devnet_source.h"

#include <gtest/gtest.h>

#include <unordered_map>
#include <unordered_set>

#include <coffer/chain/decode.h>
#include "feed/block_file.h"

namespace coffer::feed {
namespace {

using chain::Family;

chain::Network network_of(Family family) {
  return chain::find_network(family == Family::kBitcoin ? "bitcoin" : "cardano", "devnet").value();
}

class Devnet : public testing::TestWithParam<Family> {
 protected:
  DevnetOptions options(std::uint64_t seed) const {
    return {.family = GetParam(),
            .seed = seed,
            .txs_per_block = 10,
            .reorg_every = 10,
            .max_reorg_depth = 8};
  }
  const chain::Network network_ = network_of(GetParam());
};

TEST_P(Devnet, SeedDecidesTheBytes) {
  DevnetChain a(options(7)), b(options(7)), c(options(8));
  bool differs = false;
  for (int i = 0; i < 200; ++i) {
    const Emission x = a.next(), y = b.next();
    ASSERT_EQ(x.block, y.block) << i;
    ASSERT_EQ(x.before.size(), y.before.size());
    differs = differs || c.next().block != x.block;
  }
  EXPECT_TRUE(differs);
}

// Decodes every emission with the real decoders and replays it on a plain set of outputs.
TEST_P(Devnet, EveryBlockDecodesAndSpendsWhatIsThere) {
  DevnetChain devnet(options(3));
  using Set = std::unordered_map<chain::Outpoint, std::uint64_t, chain::OutpointHash>;
  Set start;
  for (const DevCoin& coin : devnet.genesis_coins()) start[coin.outpoint] = coin.value;
  std::vector<Set> states = {start};  // by height
  std::uint64_t txs = 0, invalid = 0, returns = 0, assets = 0, datums = 0, scripts = 0, reorgs = 0;
  for (int i = 0; i < 400; ++i) {
    Emission emission = devnet.next();
    reorgs += emission.rolled_back > 0;
    auto block = chain::decode(network_, emission.block);
    ASSERT_TRUE(block) << block.error().message;
    ASSERT_EQ(block->hash, emission.hash);
    states.resize(emission.height + 1);
    Set now = states.back();
    for (const chain::Tx& tx : block->txs) {
      ++txs;
      invalid += !tx.valid;
      for (const chain::Input& input : block->spent_by(tx))
        ASSERT_EQ(now.erase(input.outpoint()), 1u)
            << "height " << emission.height << " spends what is not there";
      block->for_each_created(
          tx, [&](std::uint32_t index, const chain::Output& output, bool is_return) {
            ASSERT_TRUE(now.emplace(chain::Outpoint{tx.id, index}, output.amount.value).second);
            returns += is_return;
            assets += output.assets.count;
            datums += !output.inline_datum.empty() || !output.datum_hash.empty();
            scripts += !output.script_ref.empty();
          });
    }
    states.push_back(std::move(now));
  }
  EXPECT_GT(txs, 2'000u);
  EXPECT_GT(reorgs, 10u);
  if (GetParam() == Family::kCardano) {
    EXPECT_GT(invalid, 10u);
    EXPECT_GT(returns, 3u);
    EXPECT_LT(returns, invalid);
    EXPECT_GT(assets, 10u);
    EXPECT_GT(datums, 10u);
    EXPECT_GT(scripts, 10u);
  } else {
    EXPECT_EQ(invalid, 0u);
  }
}

// The mempool's own story: who is mined or dropped was seen or comes as a surprise, never both.
TEST_P(Devnet, MempoolEventsAreConsistent) {
  DevnetChain devnet(options(5));
  std::unordered_set<Hash256, HashOfHash> pool;
  std::uint64_t replaced = 0, surprises = 0, chained = 0, confirmed = 0;
  for (int i = 0; i < 400; ++i) {
    Emission emission = devnet.next();
    auto apply = [&](const std::vector<MempoolEvent>& events) {
      for (const MempoolEvent& event : events) {
        if (event.seen) {
          chain::Block tx;
          ASSERT_TRUE(chain::decode_tx_into(tx, network_, event.seen->wire));
          ASSERT_EQ(tx.txs.front().id, event.seen->id);
          for (const auto& spent : event.seen->spends) chained += pool.contains(spent.tx);
          pool.insert(event.seen->id);
        } else {
          replaced += pool.erase(event.dropped);
        }
      }
    };
    apply(emission.before);
    const chain::Block block = chain::decode(network_, emission.block).value();
    for (const chain::Tx& tx : block.txs) {
      if (tx.coinbase) continue;
      if (pool.erase(tx.id) == 1)
        ++confirmed;
      else
        ++surprises;
    }
    apply(emission.after);
  }
  EXPECT_GT(confirmed, 1'000u);
  EXPECT_GT(surprises, 0u);  // double spends, and transactions mined again after a reorg
  EXPECT_GT(replaced, 0u);
  EXPECT_GT(chained, 50u);
}

TEST_P(Devnet, ReorgsGoAsDeepAsAllowedAndAlwaysGrow) {
  DevnetOptions deep = options(11);
  deep.reorg_every = 6;
  deep.max_reorg_depth = 60;
  DevnetChain devnet(deep);
  std::uint64_t deepest = 0, before = 0;
  for (int i = 0; i < 3000; ++i) {
    const Emission emission = devnet.next();
    deepest = std::max(deepest, emission.rolled_back);
    ASSERT_EQ(devnet.best().size(), emission.height + 1);
    ASSERT_EQ(devnet.best().back(), emission.hash);
    before = std::max(before, emission.height);
  }
  EXPECT_GT(deepest, 30u);
  EXPECT_LE(deepest, 60u);
  EXPECT_GT(before, 200u);
}

std::vector<Bytes> read_all(Source& source) {
  std::vector<Bytes> blocks;
  for (;;) {
    SourceEvent step = source.next(10).value();
    if (std::holds_alternative<End>(step)) return blocks;
    if (auto* forward = std::get_if<NextBlock>(&step)) blocks.push_back(std::move(forward->raw));
  }
}

TEST_P(Devnet, SourceResumesWhereTheReaderIs) {
  DevnetSourceOptions source_options{.chain = options(9), .stop_height = 150, .resume = {}};
  DevnetSource straight(source_options, system_clock());
  ASSERT_TRUE(straight.intersect({}).value().is_origin());
  const std::vector<Bytes> all = read_all(straight);
  for (std::size_t cut :
       {1u, 40u, 99u, static_cast<unsigned>(all.size() - 1), static_cast<unsigned>(all.size())}) {
    chain::Block last = chain::decode(network_, all[cut - 1]).value();
    std::uint64_t height = last.number.value;
    if (GetParam() == Family::kBitcoin) {  // the header does not tell: count
      DevnetChain again(options(9));
      for (std::size_t i = 0; i < cut; ++i) height = again.next().height;
      last.slot = Slot(height);
    }
    source_options.resume = last.point();
    source_options.resume_number = height;
    DevnetSource resumed(source_options, system_clock());
    EXPECT_EQ(resumed.intersect({{last.point()}}).value(), last.point());
    const std::vector<Bytes> rest = read_all(resumed);
    ASSERT_EQ(rest.size(), all.size() - cut);
    for (std::size_t i = 0; i < rest.size(); ++i) ASSERT_EQ(rest[i], all[cut + i]);
  }
}

TEST_P(Devnet, SourceServesOlderBlocksOfItsBestChainOnly) {
  DevnetChain chain(options(9));
  Emission last;
  while (chain.best().size() <= 120) last = chain.next();
  DevnetSourceOptions source_options{.chain = options(9),
                                     .stop_height = 120,
                                     .resume = {Slot(), last.hash},
                                     .resume_number = last.height};
  DevnetSource source(source_options, system_clock());
  ASSERT_TRUE(source.intersect({}).value().is_origin());
  const std::vector<Bytes> blocks = read_all(source);
  ASSERT_EQ(blocks.size(), 121u);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    EXPECT_EQ(chain::decode(network_, blocks[i]).value().hash, chain.best()[i]);
}

TEST_P(Devnet, ForeignResumePointIsAConflict) {
  Hash256 foreign{};
  foreign[3] = 9;
  DevnetSource source({.chain = options(1), .resume = {Slot(5), foreign}, .resume_number = 5},
                      system_clock());
  EXPECT_EQ(source.intersect({}).error().code, Code::kConflict);
}

TEST_P(Devnet, PacedBlocksComeWithTheClockAndInterruptEndsTheWait) {
  ManualClock clock(0);
  DevnetOptions straight = options(2);
  straight.reorg_every = 0;
  DevnetSource source({.chain = straight, .block_interval_ms = 1000, .premine = 3, .resume = {}},
                      clock);
  int blocks = 0;
  auto pull = [&] {
    for (;;) {
      SourceEvent step = source.next(0).value();
      if (std::holds_alternative<Idle>(step)) return;
      blocks += std::holds_alternative<NextBlock>(step);
    }
  };
  pull();
  EXPECT_EQ(blocks, 4);  // heights 0 to 3
  clock.advance_ms(1000);
  pull();
  EXPECT_EQ(blocks, 5);
  source.interrupt();
  EXPECT_EQ(source.next(100'000).error().code, Code::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(Families, Devnet, testing::Values(Family::kBitcoin, Family::kCardano),
                         testing::PrintToStringParamName());

TEST(BlockFile, RoundTripsEveryFormat) {
  for (const Family family : {Family::kBitcoin, Family::kCardano}) {
    const chain::Network network = network_of(family);
    DevnetChain devnet({.family = family, .seed = 4});
    std::vector<Bytes> blocks;
    blocks.reserve(10);
    for (int i = 0; i < 10; ++i) blocks.push_back(devnet.next().block);
    for (const auto format :
         {BlockFileFormat::kBlk, BlockFileFormat::kHex, BlockFileFormat::kRaw}) {
      if (format == BlockFileFormat::kBlk && family == Family::kCardano) continue;
      if (format == BlockFileFormat::kRaw && family == Family::kBitcoin) continue;
      Bytes file;
      for (const Bytes& block : blocks) append_block(file, network, format, block);
      EXPECT_EQ(split_blocks(network, file).value(), blocks);
    }
  }
  const chain::Network network = network_of(Family::kBitcoin);
  Bytes cut;
  append_block(cut, network, BlockFileFormat::kBlk, Bytes(100, 1));
  cut.pop_back();
  EXPECT_EQ(split_blocks(network, cut).error().message,
            "the block at byte 0 has 100 bytes, beyond the end of the file");
}

}  // namespace
}  // namespace coffer::feed
