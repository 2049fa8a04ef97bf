// The UTXO state after every block of real chains, and after rollbacks, against an independent
// implementation: count, value and acc.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include <coffer/chain/decode.h>
#include <coffer/chain/genesis.h>
#include <coffer/utxo/store.h>
#include "base/file.h"
#include "base/random.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "feed/block_file.h"
#include "support/unpack.h"

namespace coffer::utxo {

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
void PrintTo(const Digest& d, std::ostream* out) {
  *out << fmt::format("{} outputs, {}, acc {}", d.count, d.amount, d.acc.hex());
}

namespace {

namespace bj = boost::json;
namespace fs = std::filesystem;

struct Mode {
  const char* name;
  StoreType store;
  bool self_contained;
  friend std::ostream& operator<<(std::ostream& out, const Mode& mode) { return out << mode.name; }
};

Digest parse_digest(std::uint64_t count, std::uint64_t amount, std::string_view acc) {
  return {count, amount, Hash256::from_view(from_hex(acc).value()).value()};
}

// A chain in memory, and what its UTXO set is after each block.
struct OracleChain {
  chain::Network network;
  std::vector<Bytes> raws;
  std::vector<chain::GenesisUtxo> genesis;
  std::map<std::uint64_t, Digest> expected;  // by number; between them nothing changes

  std::shared_ptr<const chain::Block> block(std::uint64_t ordinal) const {
    auto block = std::make_shared<chain::Block>();
    EXPECT_TRUE(chain::decode_into(*block, network, raws[ordinal], {.verify = false}));
    if (network.family == chain::Family::kBitcoin) {
      block->number = BlockNumber(ordinal);
      block->slot = Slot(ordinal);
    }
    return block;
  }
  Digest at(std::uint64_t number) const { return std::prev(expected.upper_bound(number))->second; }
};

class Replay {
 public:
  Replay(const OracleChain& chain, const Options& options) : chain_(chain), options_(options) {
    open();
  }

  void open() {
    store_.reset();
    db_.reset();
    kv::DatabaseOptions db;
    db.path = dir_.path() / "db";
    db.columns = columns(options_);
    db_ = kv::Database::open(db).value();
    store_ = Store::open(*db_, chain_.network, options_, chain_.genesis).value();
  }

  void apply(std::uint64_t behind) {
    const std::uint64_t ordinal = store_->position().block_count();
    const auto block = chain_.block(ordinal);
    const bus::BlockApplied event{Ordinal(ordinal), block, behind > 0, behind};
    const auto done = store_->on_block(event);
    ASSERT_TRUE(done) << ordinal << ": " << done.error().message;
    if (points_.size() == ordinal) points_.push_back(event.position());
  }
  // Keeps `running` right from what the store itself says it did.
  void follow(Digest& running) {
    const BlockNumber number(store_->position().ordinal.value);
    Bytes stored;
    const auto delta = store_->state().delta(number, stored);
    ASSERT_TRUE(delta) << delta.error().message;
    for (const DeltaEntry& entry : delta->spent) {
      const auto found = store_->state().get(entry.outpoint).value();
      ASSERT_TRUE(found && found->spent) << number.value;
      running.remove(chain_.network.family, found->utxo);
    }
    for (const DeltaEntry& entry : delta->created) {
      const auto found = store_->state().get(entry.outpoint).value();
      ASSERT_TRUE(found && !found->spent) << number.value;
      running.add(chain_.network.family, found->utxo);
    }
  }
  void rollback(std::uint64_t blocks) {
    const std::uint64_t height = store_->position().block_count() - blocks;
    const bus::Position to = height == 0 ? bus::Position::origin() : points_.at(height - 1);
    const auto done = store_->on_rollback({to});
    ASSERT_TRUE(done) << height << ": " << done.error().message;
  }
  Digest scan() const { return digest(store_->state(), chain_.network.family).value(); }
  std::uint64_t block_count() const { return store_->position().block_count(); }
  Store& store() { return *store_; }
  kv::Database& db() { return *db_; }

 private:
  const OracleChain& chain_;
  const Options options_;
  TempDir dir_;
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<Store> store_;
  std::vector<bus::Position> points_;
};

// Block by block, each compared where the oracle has a line, with rollbacks in between.
void replay(const OracleChain& chain, const Options& options, std::uint64_t rollbacks,
            const std::set<std::uint64_t>& scans) {
  Replay replay(chain, options);
  Rng rng(options.self_contained_delta ? 2 : 1);
  std::set<std::uint64_t> turns;
  while (turns.size() < std::min<std::uint64_t>(rollbacks, chain.raws.size() - 1))
    turns.insert(1 + rng.below(chain.raws.size() - 1));
  Digest running = replay.scan();
  for (std::uint64_t height = 1; height <= chain.raws.size(); ++height) {
    ASSERT_NO_FATAL_FAILURE(replay.apply(0));
    ASSERT_NO_FATAL_FAILURE(replay.follow(running));
    ASSERT_EQ(running, chain.at(height - 1)) << "after block " << height - 1;
    if (scans.contains(height - 1)) {
      ASSERT_EQ(replay.scan(), running);
    }
    if (!turns.contains(height)) continue;
    const std::uint64_t most = std::min(height - 1, options.rollback_window);
    if (most == 0) continue;
    // Log-uniform: many short ones, some of the whole window.
    const double share = static_cast<double>(rng.below(1'000'001)) / 1e6;
    const auto depth = static_cast<std::uint64_t>(std::pow(static_cast<double>(most), share));
    ASSERT_NO_FATAL_FAILURE(replay.rollback(depth));
    ASSERT_EQ(replay.scan(), chain.at(height - 1 - depth))
        << "rolled back " << depth << " from height " << height;
    while (replay.block_count() < height) ASSERT_NO_FATAL_FAILURE(replay.apply(0));
    ASSERT_EQ(replay.scan(), running) << "forward again to height " << height;
  }
  // The whole window at the end, and one more, which is refused without a trace.
  const std::uint64_t kept = replay.store().state().stats().value().rollback_blocks;
  EXPECT_EQ(kept, std::min<std::uint64_t>(options.rollback_window, chain.raws.size()));
  const auto verified = verify(replay.db(), chain.network, nullptr);
  EXPECT_TRUE(verified) << verified.error().message;
  ASSERT_NO_FATAL_FAILURE(replay.rollback(kept));
  EXPECT_EQ(replay.scan(),
            kept == chain.raws.size() ? replay.scan() : chain.at(chain.raws.size() - 1 - kept));
}

// The same chain as a first sync sees it: far below the tip, many blocks a commit.
void replay_bulk(const OracleChain& chain, const Options& options, std::size_t reopen_every) {
  Replay replay(chain, options);
  while (replay.block_count() < chain.raws.size()) {
    const std::uint64_t behind = chain.raws.size() - 1 - replay.block_count();
    ASSERT_NO_FATAL_FAILURE(replay.apply(behind));
    if (replay.block_count() % reopen_every == 0) {
      ASSERT_TRUE(replay.store().flush());
      ASSERT_EQ(replay.scan(), chain.at(replay.block_count() - 1)) << replay.block_count();
      replay.open();
    }
  }
  ASSERT_EQ(replay.scan(), chain.at(chain.raws.size() - 1));
  const auto verified = verify(replay.db(), chain.network, nullptr);
  EXPECT_TRUE(verified) << verified.error().message;
  const std::uint64_t kept = replay.store().state().stats().value().rollback_blocks;
  EXPECT_EQ(kept, std::min<std::uint64_t>(options.rollback_window, chain.raws.size()));
  const std::uint64_t depth = std::min(kept, chain.raws.size() - 1);
  ASSERT_NO_FATAL_FAILURE(replay.rollback(depth));
  EXPECT_EQ(replay.scan(), chain.at(chain.raws.size() - 1 - depth));
}

Options options_of(const Mode& mode) {
  Options options;
  options.store = mode.store;
  options.self_contained_delta = mode.self_contained;
  return options;
}

constexpr Mode kModes[] = {{"ClassicCompact", StoreType::kClassic, false},
                           {"ClassicSelfContained", StoreType::kClassic, true},
                           {"MmrCompact", StoreType::kMmr, false},
                           {"MmrSelfContained", StoreType::kMmr, true}};

class UtxoOracle : public testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(Stores, UtxoOracle, testing::ValuesIn(kModes),
                         testing::PrintToStringParamName());

struct Preview {
  OracleChain chain;
  std::set<std::uint64_t> scans;
};

Preview load_preview(const fs::path& archive) {
  const fs::path data = shared_data().value();
  Preview preview;
  OracleChain& chain = preview.chain;
  chain.network = chain::find_network("cardano", "preview").value();
  chain.genesis = chain::load_genesis_utxos(data / "cardano/preview/genesis").value();
  TempDir dir;
  EXPECT_TRUE(test::extract(archive, dir.path()));
  std::vector<fs::path> chunks;
  for (const auto& entry : fs::recursive_directory_iterator(dir.path()))
    if (entry.path().extension() == ".chunk") chunks.push_back(entry.path());
  std::sort(chunks.begin(), chunks.end());
  for (const fs::path& chunk : chunks) {
    const Bytes bytes = read_file(chunk, 100u << 20).value();
    std::vector<Bytes> blocks = feed::split_blocks(chain.network, bytes).value();
    for (Bytes& block : blocks) chain.raws.push_back(std::move(block));
  }
  std::istringstream lines(test::unpack("zcat", data / "oracle/preview/preview-blocks.jsonl.gz"));
  for (std::string line; std::getline(lines, line);) {
    const bj::value row = bj::parse(line);
    chain.expected[row.at(0).to_number<std::uint64_t>()] =
        parse_digest(row.at(5).to_number<std::uint64_t>(), row.at(6).to_number<std::uint64_t>(),
                     std::string_view(row.at(7).as_string()));
  }
  const bj::value summary = bj::parse(
      as_text(read_file(data / "oracle/preview/preview-summary.json", 10u << 20).value()));
  for (const bj::value& at : summary.at("snapshots").as_array())
    preview.scans.insert(at.at("block_number").to_number<std::uint64_t>());
  // Before the first transaction stand the outputs of the genesis files.
  Replay fresh(chain, {});
  chain.expected[0] = fresh.scan();
  return preview;
}

TEST_P(UtxoOracle, PreviewAfterEveryBlockAndTwoHundredRollbacks) {
  COFFER_REQUIRE_DATA_OR_SKIP(archive, "cardano/preview/immutable-00000-00275.tar.xz");
  const Preview preview = load_preview(archive);
  ASSERT_EQ(preview.chain.raws.size(), 54'295u);
  ASSERT_EQ(preview.scans.size(), 12u);
  replay(preview.chain, options_of(GetParam()), 200, preview.scans);
}

TEST_P(UtxoOracle, PreviewThroughBulkSync) {
  COFFER_REQUIRE_DATA_OR_SKIP(archive, "cardano/preview/immutable-00000-00275.tar.xz");
  const Preview preview = load_preview(archive);
  replay_bulk(preview.chain, options_of(GetParam()), 10'000);
}

OracleChain load_bitcoin(const char* network, const std::string& oracle,
                         std::vector<Bytes> unordered) {
  OracleChain chain;
  chain.network = chain::find_network("bitcoin", network).value();
  std::map<std::string, Bytes> by_hash;
  for (Bytes& raw : unordered) {
    const auto block = chain::decode(chain.network, raw).value();
    by_hash[chain::display(chain::Family::kBitcoin, block.hash)] = std::move(raw);
  }
  std::istringstream lines(test::unpack("zcat", shared_data().value() / "oracle/bitcoin" / oracle));
  for (std::string line; std::getline(lines, line);) {
    const bj::value row = bj::parse(line);
    const auto found = by_hash.find(std::string(row.at("hash").as_string()));
    if (found == by_hash.end()) {
      ADD_FAILURE() << "no block " << row.at("hash");
      break;
    }
    chain.expected[chain.raws.size()] =
        parse_digest(row.at("utxo_count").to_number<std::uint64_t>(),
                     row.at("utxo_value").to_number<std::uint64_t>(),
                     std::string_view(row.at("acc").as_string()));
    chain.raws.push_back(found->second);
  }
  return chain;
}

std::vector<Bytes> blocks_of(const chain::Network& network, ByteView data) {
  return feed::split_blocks(network, data).value();
}

void replay_both_ways(const OracleChain& chain, Options options) {
  replay(chain, options, 200, {});
  options.rollback_window = options.prune_depth = 20;
  replay(chain, options, 50, {});
  replay_bulk(chain, options, 97);
}

TEST_P(UtxoOracle, FirstBlocksOfMainnet) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "bitcoin/mainnet");
  const auto network = chain::find_network("bitcoin", "mainnet").value();
  std::vector<Bytes> all;
  for (const char* name : {"blk00000.dat", "blk00001.dat"})
    for (Bytes& raw : blocks_of(network, read_file(directory / name, 100u << 20).value()))
      all.push_back(std::move(raw));
  const OracleChain chain = load_bitcoin("mainnet", "mainnet-0-599.jsonl.gz", std::move(all));
  ASSERT_EQ(chain.raws.size(), 600u);
  replay_both_ways(chain, options_of(GetParam()));
}

TEST_P(UtxoOracle, RegtestRunOfEveryOutputType) {
  COFFER_REQUIRE_DATA_OR_SKIP(file, "bitcoin/regtest/kernel_regtest_blocks_1_to_206.hex");
  const auto network = chain::find_network("bitcoin", "regtest").value();
  std::vector<Bytes> all = blocks_of(network, read_file(file, 100u << 20).value());
  all.push_back(test::regtest_genesis());
  const OracleChain chain =
      load_bitcoin("regtest", "core-kernel-regtest-0-206.jsonl.gz", std::move(all));
  ASSERT_EQ(chain.raws.size(), 207u);
  replay_both_ways(chain, options_of(GetParam()));
}

TEST_P(UtxoOracle, Reorg) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "bitcoin/reorg");
  const auto network = chain::find_network("bitcoin", "mainnet").value();
  const auto blocks = [&] {
    std::vector<Bytes> all;
    for (const char* name :
         {"blk_0_to_4.dat.bz2", "blk_3A.dat.bz2", "blk_4A.dat.bz2", "blk_5A.dat.bz2"}) {
      const std::string data = test::unpack("bzcat", directory / name);
      for (Bytes& raw : blocks_of(network, as_bytes(data))) all.push_back(std::move(raw));
    }
    return all;
  };
  const OracleChain main = load_bitcoin("mainnet", "btcd-reorg-main-0-4.jsonl.gz", blocks());
  const OracleChain other =
      load_bitcoin("mainnet", "btcd-reorg-alt-0-2-3A-4A-5A.jsonl.gz", blocks());
  ASSERT_EQ(main.raws.size(), 5u);
  ASSERT_EQ(other.raws.size(), 6u);
  Replay replay(main, options_of(GetParam()));
  for (std::size_t i = 0; i < 5; ++i) ASSERT_NO_FATAL_FAILURE(replay.apply(0));
  EXPECT_EQ(replay.scan(), main.at(4));
  ASSERT_NO_FATAL_FAILURE(replay.rollback(2));
  EXPECT_EQ(replay.scan(), other.at(2));
  for (std::uint64_t i = 3; i < 6; ++i) {
    const auto block = other.block(i);
    ASSERT_TRUE(replay.store().on_block({Ordinal(i), block, false, 0}));
    EXPECT_EQ(replay.scan(), other.at(i)) << i;
  }
}

}  // namespace
}  // namespace coffer::utxo
