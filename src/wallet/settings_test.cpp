#include "wallet/settings.h"
#include "wallet/schema.h"

#include <gtest/gtest.h>

namespace coffer::wallet {
namespace {

TEST(WalletSettings, Bounds) {
  config::declare(settings());
  const auto defaults = config::load_config({});
  ASSERT_TRUE(defaults) << defaults.error().message;
  EXPECT_TRUE(defaults->of<Settings>().enabled);
  EXPECT_EQ(defaults->of<Settings>().database, "");
  EXPECT_EQ(defaults->of<Settings>().max_connections, 8u);
  EXPECT_EQ(defaults->of<Settings>().gap_limit, 20u);

  const auto config = config::load_config(
      {"",
       {"COFFER_WALLET_DATABASE=postgres://me@db/w", "COFFER_WALLET_ENABLED=false"},
       {{"wallet.gapLimit", "100000"}, {"wallet.maxConnections", "3"}}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_FALSE(config->of<Settings>().enabled);
  EXPECT_EQ(config->of<Settings>().database, "postgres://me@db/w");
  EXPECT_EQ(config->of<Settings>().max_connections, 3u);
  EXPECT_EQ(config->of<Settings>().gap_limit, 100'000u);
  EXPECT_TRUE(config::load_config({"", {}, {{"wallet.database", ""}}}));

  const auto error = [](config::FlagValue flag) {
    const auto refused = config::load_config({"", {}, {std::move(flag)}});
    return refused ? "no error" : refused.error().message;
  };
  EXPECT_EQ(
      error({"wallet.maxConnections", "257"}),
      "--wallet-max-connections: wallet.maxConnections is 257; expected a whole number from 1 "
      "to 256");
  EXPECT_EQ(error({"wallet.gapLimit", "0"}),
            "--wallet-gap-limit: wallet.gapLimit is 0; expected a whole number from 1 to 100000");
  EXPECT_EQ(error({"wallet.database", "mysql://me:hunter2@db/w"}),
            "--wallet-database: wallet.database is not usable (its value is not shown); expected "
            "sqlite:PATH, postgres://USER@HOST/NAME or \"host=… dbname=…\"");
}

TEST(WalletSettings, DatabaseIsInTheDataDirectoryByDefault) {
  config::Config config;
  config.data_dir = "some/where";
  const auto file = database_options(config).value();
  EXPECT_EQ(file.location, "sqlite:some/where/wallet.db");
  EXPECT_EQ(file.max_connections, 8u);
  config.edit<Settings>().database = "postgres://me:secret@db/w";
  config.edit<Settings>().max_connections = 3;
  const auto server = database_options(config).value();
  EXPECT_EQ(server.location, "postgres://me:secret@db/w");
  EXPECT_EQ(server.max_connections, 3u);
}

TEST(WalletSettings, OnlyOnBitcoinAndWhenEnabled) {
  config::Config config;
  EXPECT_TRUE(has_wallets(config));
  config.chain = "cardano";
  EXPECT_FALSE(has_wallets(config));
  EXPECT_NE(database_options(config).error().message.find("bitcoin only"), std::string::npos);
  config.chain = "bitcoin";
  config.edit<Settings>().enabled = false;
  EXPECT_FALSE(has_wallets(config));
  EXPECT_NE(database_options(config).error().message.find("wallet.enabled"), std::string::npos);
  EXPECT_EQ(database_options(config).error().code, Code::kUnavailable);
}

TEST(WalletSettings, PruneWindowCoversTheRollbackWindow) {  // X1
  const auto bitcoin = chain::find_network("bitcoin", "mainnet").value();
  config::Config config;
  EXPECT_EQ(store_options(config, bitcoin).prune_window, 288u);
  config.chainstate.rollback_window = 2'000;
  EXPECT_EQ(store_options(config, bitcoin).prune_window, 2'000u);
  config.chainstate.rollback_window = 10;
  EXPECT_EQ(store_options(config, bitcoin).prune_window, 288u);
}

TEST(WalletSettings, DatabaseIsBoundToTheNetwork) {  // E5
  const auto mainnet = chain::find_network("bitcoin", "mainnet").value();
  const auto options = migrations(mainnet);
  EXPECT_EQ(options.known.data(), embedded_migrations().data());
  EXPECT_EQ(options.identity, (sql::Identity{"bitcoin", "mainnet", mainnet.genesis, 1}));
  EXPECT_NE(options.identity,
            migrations(chain::find_network("bitcoin", "signet").value()).identity);
}

}  // namespace
}  // namespace coffer::wallet
