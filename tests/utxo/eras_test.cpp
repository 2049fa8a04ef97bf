// Real blocks of every era on the UTXO state, each run from its own first block: inputs from before
// it are missing, which is counted and harmless; all else is as the plain model says, forward and
// back.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <coffer/chain/decode.h>
#include <coffer/utxo/store.h>
#include "base/file.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "feed/block_file.h"
#include "utxo/support/model.h"

namespace coffer::utxo {
namespace {

namespace bj = boost::json;
namespace fs = std::filesystem;

class EraRun {
 public:
  EraRun(const chain::Network& network, StoreType type)
      : network_(network), model_(network.family, 1) {
    Options options;
    options.store = type;
    kv::DatabaseOptions db;
    db.path = dir_.path() / "db";
    db.columns = columns(options);
    db_ = kv::Database::open(db).value();
    store_ = Store::open(*db_, network_, options, {}).value();
  }

  void apply(Bytes raw) {
    auto decoded = chain::decode(network_, std::move(raw));
    ASSERT_TRUE(decoded) << decoded.error().message;
    auto block = std::make_shared<chain::Block>(std::move(*decoded));
    const std::uint64_t height = model_.height();
    // Block 0 is another matter: nobody can spend what its coinbase makes.
    if (network_.family == chain::Family::kBitcoin) block->number = BlockNumber(1 + height);
    const auto done = store_->on_block({Ordinal(height), block, false, 0});
    ASSERT_TRUE(done) << done.error().message;
    model_.apply({block, nullptr});
  }
  void rollback(std::uint64_t to) {
    ASSERT_TRUE(store_->on_rollback({model_.position(to)}));
    model_.rollback(to);
  }
  void compare() {
    const auto& expected = model_.now().unspent;
    std::uint64_t seen = 0;
    const auto at = store_->state().for_each([&](const Utxo& utxo) {
      ++seen;
      const auto found = expected.find(utxo.outpoint);
      EXPECT_TRUE(found != expected.end());
      if (found == expected.end()) return false;
      EXPECT_TRUE(equal(utxo.record.address, found->second.address));
      EXPECT_EQ(utxo.record.amount.value, found->second.amount);
      EXPECT_EQ(utxo.record.collateral_return, found->second.collateral_return);
      std::map<std::pair<Bytes, Bytes>, std::uint64_t> assets;
      for (const chain::Asset& asset : utxo.record.assets)
        assets[{Bytes(asset.policy, asset.policy + 28),
                Bytes(asset.name.begin(), asset.name.end())}] += asset.quantity;
      EXPECT_EQ(assets, found->second.assets);
      return !testing::Test::HasFailure();
    });
    ASSERT_TRUE(at);
    ASSERT_EQ(seen, expected.size());
    const auto verified = verify(*db_, network_, nullptr);
    ASSERT_TRUE(verified) << verified.error().message;
  }
  std::uint64_t block_count() const { return model_.height(); }
  std::uint64_t missing() const { return store_->state().stats().value().missing_inputs; }
  std::uint64_t model_missing() const { return model_.now().missing; }

 private:
  const chain::Network network_;
  Model model_;
  TempDir dir_;
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<Store> store_;
};

class UtxoEras : public testing::TestWithParam<StoreType> {};
INSTANTIATE_TEST_SUITE_P(Stores, UtxoEras, testing::Values(StoreType::kClassic, StoreType::kMmr),
                         testing::PrintToStringParamName());

TEST_P(UtxoEras, EverySingleCardanoBlock) {
  COFFER_REQUIRE_DATA_OR_SKIP(index, "oracle/cardano/INDEX.json");
  const fs::path data = shared_data().value();
  const auto network = chain::find_network("cardano", "mainnet").value();
  const bj::value rows = bj::parse(as_text(read_file(index, 100u << 20).value()));
  for (const bj::value& row : rows.as_array()) {
    const std::string file(row.at("file").as_string());
    SCOPED_TRACE(file);
    Bytes raw = read_file(data / file, 100u << 20).value();
    std::string text(as_text(raw));
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    if (auto decoded = from_hex(text)) raw = std::move(*decoded);
    raw.resize(std::min(raw.size(), row.at("size").to_number<std::size_t>()));
    EraRun run(network, GetParam());
    ASSERT_NO_FATAL_FAILURE(run.apply(std::move(raw)));
    ASSERT_NO_FATAL_FAILURE(run.compare());
    EXPECT_EQ(run.missing(), run.model_missing());
    ASSERT_NO_FATAL_FAILURE(run.rollback(0));
    ASSERT_NO_FATAL_FAILURE(run.compare());
  }
}

TEST_P(UtxoEras, TwoChunksOfPreprod) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "cardano/pallas");
  const auto network = chain::find_network("cardano", "preprod").value();
  for (const char* name : {"01285.chunk", "01836.chunk"}) {
    SCOPED_TRACE(name);
    EraRun run(network, GetParam());
    const Bytes bytes = read_file(directory / name, 100u << 20).value();
    std::vector<Bytes> blocks = feed::split_blocks(network, bytes).value();
    for (Bytes& raw : blocks) ASSERT_NO_FATAL_FAILURE(run.apply(std::move(raw)));
    ASSERT_NO_FATAL_FAILURE(run.compare());
    EXPECT_EQ(run.missing(), run.model_missing());
    for (const std::uint64_t back : {1u, 17u, 300u}) {
      ASSERT_NO_FATAL_FAILURE(run.rollback(run.block_count() - back));
      ASSERT_NO_FATAL_FAILURE(run.compare());
    }
  }
}

TEST_P(UtxoEras, SingleBitcoinBlocks) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "bitcoin/blocks");
  const auto network = chain::find_network("bitcoin", "mainnet").value();
  for (const char* name :
       {"block_170.bin", "block_200000.bin", "block300025.raw", "block413567.raw"}) {
    SCOPED_TRACE(name);
    EraRun run(network, GetParam());
    const Bytes bytes = read_file(directory / name, 100u << 20).value();
    auto blocks = feed::split_blocks(network, bytes);
    ASSERT_TRUE(blocks) << blocks.error().message;
    ASSERT_NO_FATAL_FAILURE(run.apply(std::move(blocks->front())));
    ASSERT_NO_FATAL_FAILURE(run.compare());
    ASSERT_NO_FATAL_FAILURE(run.rollback(0));
    ASSERT_NO_FATAL_FAILURE(run.compare());
  }
}

}  // namespace
}  // namespace coffer::utxo
