// Store::verify finds damage: one table of cases, each done to a copy of a sound store.
#include <filesystem>
#include <regex>

#include "base/temp_dir.h"
#include "txstore/support/damage_cases.h"

namespace coffer::txstore::test {
namespace {

namespace fs = std::filesystem;

class VerifyDamage : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (GetParam() == StoreKind::kPostgres) {
      COFFER_REQUIRE_POSTGRES_OR_SKIP();
    }
    Options options;
    options.window = options.block_height_retention = 10;
    sound_ = StorePlace::fresh(GetParam(), dir_.path(), options);
    const auto store = open_store(sound_);
    const auto consumer = get_value(Consumer::open(**store));
    // Without the last block, so that some transactions are unmined.
    std::vector<ChainStep> steps =
        devnet_steps({.seed = 3, .txs_per_block = 8, .reorg_every = 15, .max_reorg_depth = 5}, 170);
    while (!steps.back().block) steps.pop_back();
    steps.pop_back();
    for (const ChainStep& step : steps) get_value(step.take(*consumer));
    get_value(consumer->flush());
  }
  StorePlace copy() {
    StorePlace place = sound_;
    const std::string path = (dir_.path() / ("copy" + std::to_string(++copies_))).string();
    switch (GetParam()) {
      case StoreKind::kRocksDb:
        place.location = path;
        fs::copy(sound_.location, path, fs::copy_options::recursive);
        break;
      case StoreKind::kSqlite:
        place.location = "sqlite:" + path;
        fs::copy(sound_.location.substr(7), path);
        break;
      case StoreKind::kPostgres: {
        auto* server = sql::test::PostgresServer::shared();
        const std::string name = sound_.location.substr(sound_.location.rfind('=') + 1);
        place.location = server->location(server->fresh_database(name));
        break;
      }
    }
    return place;
  }

  const TempDir dir_;
  StorePlace sound_;
  int copies_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Every, VerifyDamage,
                         testing::Values(StoreKind::kRocksDb, StoreKind::kSqlite,
                                         StoreKind::kPostgres),
                         testing::PrintToStringParamName());

TEST_P(VerifyDamage, EachIsFound) {
  {
    DamagedStore store(copy());
    const auto verified = verify_store(store.store());
    ASSERT_TRUE(verified) << verified.error().message;
  }
  for (const DamageCase& each : damage_cases()) {
    if (each.rocksdb_only && GetParam() != StoreKind::kRocksDb) continue;
    SCOPED_TRACE(each.name);
    DamagedStore store(copy());
    each.damage(store);
    const auto verified = store.store().verify([](std::string_view, std::uint64_t) {});
    ASSERT_FALSE(verified) << "nothing was found";
    EXPECT_EQ(verified.error().code, Code::kCorrupt);
    EXPECT_TRUE(std::regex_search(verified.error().message, std::regex(each.message)))
        << verified.error().message;
  }
}

}  // namespace
}  // namespace coffer::txstore::test
