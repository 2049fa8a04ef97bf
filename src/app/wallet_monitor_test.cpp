#include "app/wallet_monitor.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"

namespace coffer::app {
namespace {

TEST(WalletMonitor, SaysHowMuchThereIsAndNeverAnAmount) {
  TempDir dir;
  sql::DatabaseOptions options;
  options.location = "sqlite:" + (dir.path() / "wallet.db").string();
  const auto database = sql::Database::open(options).value();
  const auto network = chain::find_network("bitcoin", "regtest").value();
  const auto store = wallet::Store::open(*database, network).value();
  const wallet::WalletId shop = store->create({.name = "shop"}).value().id;
  (void)store->create({.name = "till"}).value();
  ASSERT_TRUE(store->import_script(shop, Bytes{0x51}, {}));
  ASSERT_TRUE(store->clean_leases());

  api::Metrics metrics;
  std::string text;
  {
    WalletMonitor monitor(*store, metrics);
    for (int i = 0; i < 1000 && text.find("coffer_wallet_") == std::string::npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      text = metrics.text();
    }
    for (const char* line :
         {"\ncoffer_wallet_wallets 2\n", "\ncoffer_wallet_addresses 1\n",
          "\ncoffer_wallet_transactions 0\n", "\ncoffer_wallet_active_leases 0\n",
          "\ncoffer_wallet_leases_cleaned_total 0\n", "\ncoffer_wallet_lease_cleanups_total 1\n",
          "\ncoffer_wallet_invalidations_total 0\n"})
      EXPECT_NE(text.find(line), std::string::npos) << line << text;
    EXPECT_NE(text.find("coffer_wallet_lease_cleanup_seconds_total"), std::string::npos);
    EXPECT_NE(text.find("coffer_wallet_database_bytes"), std::string::npos);
    EXPECT_EQ(text.find("balance"), std::string::npos);
    // Reading again counts nothing twice.
    EXPECT_NE(metrics.text().find("\ncoffer_wallet_lease_cleanups_total 1\n"), std::string::npos);
  }
  (void)metrics.text();  // the monitor is gone and asked no more
}

}  // namespace
}  // namespace coffer::app
