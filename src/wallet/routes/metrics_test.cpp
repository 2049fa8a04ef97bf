#include "wallet/routes/metrics.h"

#include <gtest/gtest.h>

#include "base/result.h"
#include "base/temp_dir.h"
#include "sql/test_postgres.h"
#include "wallet/test_tx.h"

namespace coffer::wallet {
namespace {

using wallet::test_tx;
using wallet::test_txid;

class Monitored {
 public:
  explicit Monitored(sql::DatabaseOptions options) {
    options.clock = &clock_;
    database_ = sql::Database::open(options).value();
    const auto network = chain::find_network("bitcoin", "regtest").value();
    store_ = wallet::Store::open(*database_, network).value();
  }
  wallet::Store& store() { return *store_; }
  ManualClock& clock() { return clock_; }

  // What the metrics say once it was counted.
  std::string count() {
    WalletMonitor monitor(*store_, metrics_);
    std::string text;
    for (int i = 0; i < 1000 && !monitor.counted(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    text = metrics_.text();
    EXPECT_EQ(metrics_.text(), text);  // reading again counts nothing twice
    return text;
  }

 private:
  ManualClock clock_{1'700'000'000'000};
  std::unique_ptr<sql::Database> database_;
  std::unique_ptr<wallet::Store> store_;
  api::Metrics metrics_;
};

sql::DatabaseOptions in_file(const TempDir& dir) {
  sql::DatabaseOptions options;
  options.location = "sqlite:" + (dir.path() / "wallet.db").string();
  return options;
}

void expect_lines(const std::string& text, std::initializer_list<const char*> lines) {
  for (const char* line : lines)
    EXPECT_NE(text.find(fmt::format("\n{}\n", line)), std::string::npos) << line << text;
}

TEST(WalletMonitor, SaysHowMuchThereIsAndNeverAnAmount) {
  TempDir dir;
  Monitored monitored(in_file(dir));
  const wallet::WalletId shop = monitored.store().create({.name = "shop"}).value().id;
  (void)monitored.store().create({.name = "till"}).value();
  ASSERT_TRUE(monitored.store().import_script(shop, Bytes{0x51}, {}));
  ASSERT_TRUE(monitored.store().clean_leases());
  const std::string text = monitored.count();
  expect_lines(
      text, {"coffer_wallet_wallets 2", "coffer_wallet_addresses 1", "coffer_wallet_transactions 0",
             "coffer_wallet_active_leases 0", "coffer_wallet_leases_cleaned_total 0",
             "coffer_wallet_lease_cleanups_total 1", "coffer_wallet_invalidations_total 0",
             "coffer_wallet_table_rows{table=\"wallets\"} 2",
             "coffer_wallet_table_rows{table=\"sync_state\"} 1",
             "coffer_wallet_table_rows{table=\"labels\"} 0"});
  EXPECT_NE(text.find("coffer_wallet_lease_cleanup_seconds_total"), std::string::npos);
  EXPECT_NE(text.find("coffer_wallet_database_bytes"), std::string::npos);
  EXPECT_EQ(text.find("coffer_wallet_table_bytes"), std::string::npos);  // nobody knows
  EXPECT_EQ(text.find("coffer_wallet_balance"), std::string::npos);
}

// One replaced, two leases of which one has expired and is cleaned.
void live(Monitored& monitored) {
  wallet::Store& store = monitored.store();
  const wallet::WalletId shop = store.create({.name = "shop"}).value().id;
  const Bytes mine = {0x51};
  ASSERT_TRUE(store.import_script(shop, mine, {}));
  const Bytes first = test_tx({wallet::foreign_outpoint(1)}, {{500, mine}});
  const Bytes better = test_tx({wallet::foreign_outpoint(1)}, {{400, mine}, {50, mine}});
  ASSERT_TRUE(store.record(shop, first, {}));
  ASSERT_TRUE(store.record(shop, better, {}));
  wallet::LockId lock{};
  lock.fill(7);
  ASSERT_TRUE(store.lease(shop, {{{test_txid(better), 0}}, lock, 1'000}));
  ASSERT_TRUE(store.lease(shop, {{{test_txid(better), 1}}, lock, 60'000}));
  monitored.clock().advance_ms(5'000);
  ASSERT_EQ(store.clean_leases().value(), 1u);
}

TEST(WalletMonitor, CountsWhatHappened) {
  TempDir dir;
  Monitored monitored(in_file(dir));
  ASSERT_NO_FATAL_FAILURE(live(monitored));
  expect_lines(
      monitored.count(),
      {"coffer_wallet_invalidations_total 1", "coffer_wallet_leases_cleaned_total 1",
       "coffer_wallet_lease_cleanups_total 1", "coffer_wallet_active_leases 1",
       "coffer_wallet_leases 1", "coffer_wallet_replacements 1", "coffer_wallet_transactions 2",
       "coffer_wallet_unspent 3", "coffer_wallet_table_rows{table=\"utxos\"} 3"});
}

TEST(WalletMonitor, PostgresSaysWhatATableTakes) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  auto* server = sql::test::PostgresServer::shared();
  sql::DatabaseOptions options;
  options.location = server->location(server->fresh_database());
  Monitored monitored(options);
  ASSERT_NO_FATAL_FAILURE(live(monitored));
  ASSERT_TRUE(monitored.store().database().run_transaction(
      [](sql::Transaction& sql) { return sql.script("ANALYZE"); }));
  const std::string text = monitored.count();
  expect_lines(text,
               {"coffer_wallet_invalidations_total 1", "coffer_wallet_leases_cleaned_total 1",
                "coffer_wallet_active_leases 1", "coffer_wallet_table_rows{table=\"utxos\"} 3"});
  for (const char* table : {"wallets", "utxos", "transactions", "labels", "balance_summary"}) {
    const std::string line = fmt::format("\ncoffer_wallet_table_bytes{{table=\"{}\"}} ", table);
    const std::size_t at = text.find(line);
    ASSERT_NE(at, std::string::npos) << line << text;
    EXPECT_GT(std::stod(text.substr(at + line.size())), 0);
  }
}

}  // namespace
}  // namespace coffer::wallet
