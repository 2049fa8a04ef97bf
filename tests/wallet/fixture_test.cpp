// Databases of every schema version that was released open, come up to date and answer as ever.
#include <fstream>
#include <sstream>

#include <coffer/wallet/store.h>
#include "base/result.h"
#include "sql/test_damage.h"
#include "sql/test_engines.h"
#include "wallet/schema.h"

namespace coffer::wallet::test {
namespace {

class WalletFixture : public sql::test::EngineTest {
 protected:
  static std::string fixture(const std::string& name) {
    std::ifstream file("tests/wallet/fixtures/" + name);
    EXPECT_TRUE(file) << name;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void load(const std::string& version) {
    if (is_sqlite()) {
      sql::test::load_sqlite((dir_.path() / "test.db").string(),
                             fixture("wallet_" + version + "_sqlite.sql"));
      return;
    }
    auto* server = sql::test::PostgresServer::shared();
    const std::string name = server->fresh_database();
    server->run_psql(fixture("wallet_" + version + "_postgres.sql"), name);
    options_.location = server->location(name);
  }
  // Brings it up to date, and verifies it.
  void open(const std::string& version, std::uint64_t transactions) {
    ASSERT_NO_FATAL_FAILURE(load(version));
    auto store = Store::open(db(), chain::find_network("bitcoin", "regtest").value());
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    const auto verified = store_->verify();
    ASSERT_TRUE(verified) << verified.error().message;
    EXPECT_EQ(verified->transactions, transactions);
    shop_ = store_->find("shop").value().id;
  }

  // Newest first: heights, or what became of those in no block.
  std::string history() {
    const auto page = store_->history(shop_, {});
    EXPECT_TRUE(page) << page.error().message;
    std::string lines;
    for (const HistoryEntry& entry : page->items)
      lines += entry.height ? std::to_string(*entry.height) + " "
                            : fmt::format("{} ", to_string(entry.status));
    return lines;
  }

  std::unique_ptr<Store> store_;
  WalletId shop_;
};

TEST_P(WalletFixture, Version1Reads) {
  ASSERT_NO_FATAL_FAILURE(open("v1", 8));
  const Balance balance = store_->balance(shop_).value();
  EXPECT_EQ(balance.confirmed, 167'000u);
  EXPECT_EQ(balance.unconfirmed, 48'000u);
  EXPECT_EQ(balance.locked, 0u);
  EXPECT_EQ(store_->descriptors(shop_)->size(), 2u);
  EXPECT_EQ(store_->stats()->pruned, 2u);
  EXPECT_EQ(history(), "published 105 failed replaced 102 101 100 99 ");
  const auto coins = store_->coins(shop_, {});
  ASSERT_TRUE(coins) << coins.error().message;
  EXPECT_EQ(coins->items.front().height, 99u);
  const auto labels = store_->labels(shop_, {});
  ASSERT_TRUE(labels) << labels.error().message;
  ASSERT_EQ(labels->items.size(), 1u);
  EXPECT_EQ(labels->items.front().label, "rent");
}

TEST_P(WalletFixture, Version1CanBeWrittenTo) {
  ASSERT_NO_FATAL_FAILURE(open("v1", 8));
  EXPECT_TRUE(store_->new_address(shop_, "default", false));
  const auto coins = store_->coins(shop_, {});
  ASSERT_TRUE(coins) << coins.error().message;
  const LockId lock{};
  EXPECT_TRUE(store_->lease(shop_, {{coins->items.front().outpoint}, lock, 60'000}));
  EXPECT_EQ(store_->balance(shop_)->leased, coins->items.front().amount.value);
  EXPECT_TRUE(store_->verify());
}

TEST_P(WalletFixture, Version1KeepsWhatItRecorded) {
  ASSERT_NO_FATAL_FAILURE(open("v1", 8));
  auto connection = db().acquire();
  ASSERT_TRUE(connection) << connection.error().message;
  const auto outputs =
      connection->value<std::string>("SELECT max(outputs) FROM pruned_transactions");
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ(outputs->value_or(""), ",1,");
  const auto fixed = connection->value<std::int64_t>("SELECT fixed_height FROM pruned_summary");
  ASSERT_TRUE(fixed) << fixed.error().message;
  EXPECT_EQ(fixed->value_or(0), 104);
  const auto named_by_user = connection->value<std::int64_t>(
      "SELECT max(block_height) FROM transactions WHERE user_confirmed");
  ASSERT_TRUE(named_by_user) << named_by_user.error().message;
  EXPECT_EQ(named_by_user->value_or(0), 105);
}

// An edit of a released migration would show here as another text.
TEST_P(WalletFixture, Version1HasTheChecksumOfItsMigration) {
  ASSERT_NO_FATAL_FAILURE(load("v1"));
  const auto status =
      sql::migration_status(db(), migrations(chain::find_network("bitcoin", "regtest").value()));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_GE(status->applied.size(), 2u);
}

TEST_P(WalletFixture, SchemaMustBeCurrent) {
  const auto open_as = [&](sql::Schema schema) {
    StoreOptions options;
    options.schema = schema;
    return Store::open(db(), chain::find_network("bitcoin", "regtest").value(), options);
  };
  const auto missing = open_as(sql::Schema::kMustBeCurrent);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kConflict);
  EXPECT_EQ(missing.error().message,
            db().name() + " is of schema 0, this coffer needs 1: run 'coffer db migrate'");
  ASSERT_TRUE(open_as(sql::Schema::kCreateIfMissing));
  EXPECT_TRUE(open_as(sql::Schema::kMustBeCurrent));
  EXPECT_TRUE(open_as(sql::Schema::kMigrate));
}

INSTANTIATE_TEST_SUITE_P(Every, WalletFixture,
                         testing::Values(sql::test::Engine::kSqlite, sql::test::Engine::kPostgres),
                         sql::test::engine_name);

}  // namespace
}  // namespace coffer::wallet::test
