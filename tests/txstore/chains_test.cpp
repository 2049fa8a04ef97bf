// Real chains: the stored set is what the blocks alone say must be stored, and every stored
// transaction reads as itself.
#include <boost/json.hpp>

#include "base/file.h"
#include "base/test_data.h"
#include "support/networks.h"
#include "support/shell.h"
#include "support/unpack.h"
#include "txstore/support/fed_store.h"

namespace coffer::txstore::test {
namespace {

namespace fs = std::filesystem;
using chain::Family;
using coffer::test::kRegtest;

constexpr std::size_t kMostFileBytes = 100u << 20;

// ---- Cardano ----

class PreviewChain : public testing::TestWithParam<Engine> {};
INSTANTIATE_TEST_SUITE_P(Engines, PreviewChain, testing::Values(Engine::kRocksDb, Engine::kSqlite),
                         testing::PrintToStringParamName());

TEST_P(PreviewChain, StoredSetIsExact) {
  COFFER_REQUIRE_DATA_OR_SKIP(archive, "cardano/preview/immutable-00000-00275.tar.xz");
  const chain::Network network = chain::find_network("cardano", "preview").value();
  TempDir dir;
  ASSERT_TRUE(coffer::test::extract(archive, dir.path(), "*.chunk"));
  std::vector<fs::path> chunks;
  for (const auto& entry : fs::recursive_directory_iterator(dir.path()))
    if (entry.path().extension() == ".chunk") chunks.push_back(entry.path());
  std::sort(chunks.begin(), chunks.end());
  FedStore fed(network, with_window(2'160),
               chain::load_genesis_utxos(archive.parent_path() / "genesis").value(), 0, GetParam());
  constexpr std::uint64_t kBlocks = 54'295;
  std::uint64_t applied = 0;
  for (const fs::path& chunk : chunks)
    for (Bytes& raw : blocks_in(network, chunk)) {
      ASSERT_NO_FATAL_FAILURE(fed.apply(std::move(raw), kBlocks - ++applied));
      // Also while it is far below the tip.
      if (applied != 30'000) continue;
      ASSERT_NO_FATAL_FAILURE(fed.flush());
      ASSERT_NO_FATAL_FAILURE(fed.expect_exact());
    }
  ASSERT_EQ(applied, kBlocks);
  ASSERT_NO_FATAL_FAILURE(fed.flush());
  ASSERT_NO_FATAL_FAILURE(fed.expect_exact());
  ASSERT_NO_FATAL_FAILURE(fed.expect_bodies());
  EXPECT_GT(fed.store().stats()->counts.deleted, 5'000);
  EXPECT_FALSE(fed.store().tip().first_block);
}

// A block that is hex or binary, alone in a store that begins with it.
void expect_stored_alone(const chain::Network& network, std::uint64_t height,
                         std::vector<Bytes> raws) {
  FedStore fed(network, with_window(288), {}, height);
  const std::size_t count = raws.size();
  ASSERT_NO_FATAL_FAILURE(fed.apply_all(std::move(raws)));
  ASSERT_TRUE(fed.store().tip().first_block);
  EXPECT_EQ(fed.store().tip().first_block->ordinal.value, height);
  EXPECT_EQ(fed.store().tip().height(), height + count - 1);
  ASSERT_NO_FATAL_FAILURE(fed.expect_exact());
  const std::set<Hash256> ids = mined_ids(fed.store());
  if (ids.empty()) return;  // an epoch boundary, or a block without transactions
  ASSERT_NO_FATAL_FAILURE(fed.expect_bodies());
  std::size_t inputs = 0, older = 0;
  for (const Hash256& id : ids) {
    const auto body = fed.store().body(id);
    for (const StoredInput& input : body.value().inputs) {
      ++inputs;
      if (ids.contains(input.outpoint.tx)) continue;
      EXPECT_EQ(fed.store().absence(input.outpoint.tx).value(), Absence::kBeforeStart);
      EXPECT_FALSE(input.amount);
      ++older;
    }
  }
  EXPECT_EQ(older > 0, inputs > 0);
}

TEST(SingleBlocks, EveryCardanoEra) {
  COFFER_REQUIRE_DATA_OR_SKIP(index, "oracle/cardano/INDEX.json");
  const fs::path data = shared_data().value();
  const chain::Network network = chain::find_network("cardano", "mainnet").value();
  const auto rows = boost::json::parse(as_text(read_file(index, kMostFileBytes).value()));
  std::set<std::uint8_t> eras;
  for (const auto& row : rows.as_array()) {
    const std::string file(row.at("file").as_string());
    SCOPED_TRACE(file);
    Bytes raw = read_file(data / file, kMostFileBytes).value();
    std::string text(as_text(raw));
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    if (auto decoded = from_hex(text)) raw = std::move(*decoded);
    raw.resize(std::min(raw.size(), row.at("size").to_number<std::size_t>()));
    eras.insert(raw.at(1));
    std::vector<Bytes> raws;
    raws.push_back(std::move(raw));
    ASSERT_NO_FATAL_FAILURE(expect_stored_alone(network, 1'000'000, std::move(raws)));
  }
  EXPECT_EQ(eras, (std::set<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// Two runs of blocks from the middle of preprod, pruned as they go.
TEST(SingleBlocks, PreprodFromTheMiddle) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "cardano/pallas");
  const chain::Network network = chain::find_network("cardano", "preprod").value();
  for (const char* name : {"01285.chunk", "01836.chunk"}) {
    SCOPED_TRACE(name);
    FedStore fed(network, with_window(100), {}, 2'000'000);
    std::vector<Bytes> raws = blocks_in(network, directory / name);
    ASSERT_GT(raws.size(), 300u);
    for (Bytes& raw : raws) ASSERT_NO_FATAL_FAILURE(fed.apply(std::move(raw)));
    ASSERT_NO_FATAL_FAILURE(fed.flush());
    ASSERT_NO_FATAL_FAILURE(fed.expect_exact());
    ASSERT_NO_FATAL_FAILURE(fed.expect_bodies());
    EXPECT_GT(fed.store().stats()->counts.deleted, 0);
    EXPECT_EQ(fed.store().tip().first_block->ordinal.value, 2'000'000u);
    EXPECT_EQ(fed.store().absence(Hash256{}).value(), Absence::kBeforeStart);
  }
}

// ---- Bitcoin ----

TEST(SingleBlocks, Bitcoin) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "bitcoin/blocks");
  struct Case {
    const char* network;
    std::uint64_t height;
    std::vector<const char*> files;
  };
  const Case cases[] = {{"mainnet", 170, {"block_170.bin"}},
                        {"mainnet", 200'000, {"block_200000.bin"}},
                        {"mainnet", 227'835, {"block227835.dat", "block227836.dat"}},
                        {"mainnet", 277'647, {"277647.dat.bz2"}},
                        {"mainnet", 300'025, {"block300025.raw"}},
                        {"mainnet", 413'567, {"block413567.raw"}},
                        {"testnet", 21'066, {"block_testnet21066.dat"}}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.files.front());
    const chain::Network network = chain::find_network("bitcoin", each.network).value();
    std::vector<Bytes> raws;
    for (const char* file : each.files)
      for (Bytes& raw : blocks_in(network, directory / file)) raws.push_back(std::move(raw));
    ASSERT_EQ(raws.size(), each.files.size());
    ASSERT_NO_FATAL_FAILURE(expect_stored_alone(network, each.height, std::move(raws)));
  }
}

// In one go as a first sync does, and block by block, each compared.
void expect_exact_in_bulk_and_singly(const chain::Network& network, const std::vector<Bytes>& raws,
                                     std::uint64_t window) {
  FedStore bulk(network, with_window(window));
  ASSERT_NO_FATAL_FAILURE(bulk.apply_all(raws));
  ASSERT_NO_FATAL_FAILURE(bulk.expect_exact());
  ASSERT_NO_FATAL_FAILURE(bulk.expect_bodies());
  FedStore single(network, with_window(window));
  for (std::size_t i = 0; i < raws.size(); ++i) {
    ASSERT_NO_FATAL_FAILURE(single.apply(raws[i]));
    if (i % 20 == 0) {
      ASSERT_EQ(single.wrong_ids(), "") << i;
    }
  }
  ASSERT_NO_FATAL_FAILURE(single.flush());
  ASSERT_NO_FATAL_FAILURE(single.expect_exact());
  EXPECT_EQ(dump_of(single.store()), dump_of(bulk.store()));
}

TEST(BitcoinChains, FirstBlocksOfMainnet) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "bitcoin/mainnet");
  const chain::Network network = chain::find_network("bitcoin", "mainnet").value();
  std::map<Hash256, Bytes> by_prev;  // files have them in the order of their arrival
  for (const char* name : {"blk00000.dat", "blk00001.dat"})
    for (Bytes& raw : blocks_in(network, directory / name)) {
      const Hash256 prev = chain::decode(network, raw)->prev;
      by_prev[prev] = std::move(raw);
    }
  std::vector<Bytes> raws;
  for (Hash256 at{}; by_prev.contains(at); at = chain::decode(network, raws.back())->hash)
    raws.push_back(by_prev[at]);
  ASSERT_EQ(raws.size(), 600u);
  for (const std::uint64_t window : {288u, 20u})
    ASSERT_NO_FATAL_FAILURE(expect_exact_in_bulk_and_singly(network, raws, window)) << window;
}

TEST(BitcoinChains, RegtestRunOfEveryOutputType) {
  COFFER_REQUIRE_DATA_OR_SKIP(file, "bitcoin/regtest/kernel_regtest_blocks_1_to_206.hex");
  std::vector<Bytes> raws = blocks_in(kRegtest, file);
  raws.insert(raws.begin(), coffer::test::regtest_genesis());
  ASSERT_EQ(raws.size(), 207u);
  for (const std::uint64_t window : {288u, 20u, 3u})
    ASSERT_NO_FATAL_FAILURE(expect_exact_in_bulk_and_singly(kRegtest, raws, window)) << window;
}

TEST(BitcoinChains, Reorg) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "bitcoin/reorg");
  const chain::Network network = chain::find_network("bitcoin", "mainnet").value();
  FedStore opened(network, with_window(288));
  Store* const store = &opened.store();
  ChainFeeder feeder(*store, network);
  for (const Bytes& raw : blocks_in(network, directory / "blk_0_to_4.dat.bz2"))
    ASSERT_NO_FATAL_FAILURE(feeder.add(raw));
  ASSERT_EQ(feeder.tip(), 4u);
  // The highest height is that over all branches, and a stamp is not lowered.
  const std::set<int> heights{2, 3};
  const std::vector<std::string> main_branch = dump_without(*store, heights);
  const auto left = feeder.blocks();
  ASSERT_NO_FATAL_FAILURE(feeder.roll_back(2));
  for (const char* name : {"blk_3A.dat.bz2", "blk_4A.dat.bz2", "blk_5A.dat.bz2"})
    for (const Bytes& raw : blocks_in(network, directory / name))
      ASSERT_NO_FATAL_FAILURE(feeder.add(raw));
  ASSERT_NO_FATAL_FAILURE(feeder.flush());
  ASSERT_EQ(feeder.tip(), 5u);
  EXPECT_EQ(difference(mined_ids(*store), feeder.expected(288)), "");
  ASSERT_NO_FATAL_FAILURE(expect_sound(*store));
  // The coinbases of the branch that was left cannot come back by themselves.
  for (const std::size_t height : {3u, 4u}) {
    const auto stale = store->get(std::vector{left[height]->txs.front().id}).value();
    ASSERT_TRUE(stale.front());
    EXPECT_EQ(stale.front()->state, State::kConflicting);
  }
  // And back to the first branch.
  ASSERT_NO_FATAL_FAILURE(feeder.roll_back(3));
  for (const std::size_t height : {3u, 4u})
    ASSERT_NO_FATAL_FAILURE(feeder.add(left[height]->storage));
  ASSERT_NO_FATAL_FAILURE(feeder.flush());
  std::vector<std::string> mined;
  for (const std::string& line : dump_without(*store, heights))
    if (line.find("|mined|") != std::string::npos) mined.push_back(line);
  EXPECT_EQ(mined, main_branch);
  ASSERT_NO_FATAL_FAILURE(expect_sound(*store));
}

}  // namespace
}  // namespace coffer::txstore::test
