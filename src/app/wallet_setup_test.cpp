#include "app/wallet_setup.h"

#include "app/command.h"

#include <gtest/gtest.h>

#include "app/database_setup.h"
#include "base/temp_dir.h"

namespace coffer::app {
namespace {

TEST(WalletSetup, Settings) {
  declare_settings();
  const auto defaults = config::load_config({});
  ASSERT_TRUE(defaults) << defaults.error().message;
  EXPECT_TRUE(defaults->of<wallet::Settings>().enabled);
  EXPECT_EQ(defaults->of<wallet::Settings>().database, "");
  EXPECT_EQ(defaults->of<wallet::Settings>().max_connections, 8u);
  EXPECT_EQ(defaults->of<wallet::Settings>().gap_limit, 20u);

  const auto config = config::load_config(
      {"",
       {"COFFER_WALLET_DATABASE=postgres://me@db/w", "COFFER_WALLET_ENABLED=false"},
       {{"wallet.gapLimit", "100000"}, {"wallet.maxConnections", "3"}}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_FALSE(config->of<wallet::Settings>().enabled);
  EXPECT_EQ(config->of<wallet::Settings>().database, "postgres://me@db/w");
  EXPECT_EQ(config->of<wallet::Settings>().max_connections, 3u);
  EXPECT_EQ(config->of<wallet::Settings>().gap_limit, 100'000u);
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

TEST(WalletSetup, TheDatabaseIsInTheDataDirectoryUnlessTheSettingsSayOtherwise) {
  config::Config config;
  config.data_dir = "some/where";
  const auto file = wallet_database(config).value();
  EXPECT_EQ(file.location, "sqlite:some/where/wallet.db");
  EXPECT_EQ(file.max_connections, 8u);
  config.edit<wallet::Settings>().database = "postgres://me:secret@db/w";
  config.edit<wallet::Settings>().max_connections = 3;
  const auto server = wallet_database(config).value();
  EXPECT_EQ(server.location, "postgres://me:secret@db/w");
  EXPECT_EQ(server.max_connections, 3u);
}

TEST(WalletSetup, ThereIsAWalletOnBitcoinAndWhenItIsOn) {
  config::Config config;
  EXPECT_TRUE(has_wallet(config));
  config.chain = "cardano";
  EXPECT_FALSE(has_wallet(config));
  EXPECT_NE(wallet_database(config).error().message.find("bitcoin only"), std::string::npos);
  config.chain = "bitcoin";
  config.edit<wallet::Settings>().enabled = false;
  EXPECT_FALSE(has_wallet(config));
  EXPECT_NE(wallet_database(config).error().message.find("wallet.enabled"), std::string::npos);
  EXPECT_EQ(wallet_database(config).error().code, Code::kUnavailable);
}

TEST(WalletSetup, NothingIsPrunedThatAReorgMayNeed) {  // X1
  const auto bitcoin = chain::find_network("bitcoin", "mainnet").value();
  config::Config config;
  EXPECT_EQ(wallet_store_options(config, bitcoin).prune_window, 288u);
  config.chainstate.rollback_window = 2'000;
  EXPECT_EQ(wallet_store_options(config, bitcoin).prune_window, 2'000u);
  config.chainstate.rollback_window = 10;
  EXPECT_EQ(wallet_store_options(config, bitcoin).prune_window, 288u);
}

TEST(WalletSetup, TheDataBelongToTheNetwork) {  // E5
  const auto mainnet = chain::find_network("bitcoin", "mainnet").value();
  const auto options = wallet::migrations(mainnet);
  EXPECT_EQ(options.known.data(), wallet::embedded_migrations().data());
  EXPECT_EQ(options.identity, (sql::Identity{"bitcoin", "mainnet", mainnet.genesis, 1}));
  EXPECT_NE(options.identity,
            wallet::migrations(chain::find_network("bitcoin", "signet").value()).identity);
}

TEST(WalletSetup, WhatTheDataDirectoryHoldsNeedNotBeSaidAgain) {
  const TempDir dir;
  config::Config config;
  config.data_dir = dir.path().string();
  EXPECT_EQ(settled_config(config).value().network, "devnet");  // nothing there yet
  EXPECT_FALSE(settled_config(config).value().is_given("network"));
  const auto signet = chain::find_network("bitcoin", "signet").value();
  {
    const auto db = kv::Database::open(database_options(config, false).value()).value();
    const auto meta = db->column(chainstate::kMetaColumn).value();
    kv::Batch batch;
    chainstate::put_identity(batch, meta, chainstate::Identity::of(signet));
    ASSERT_TRUE(db->commit(batch));
  }
  EXPECT_EQ(settled_config(config).value().network, "signet");
  EXPECT_TRUE(settled_config(config).value().is_given("network"));
  const auto with = [&](const std::string& network) {
    return settled_config(
        config::load_config({"", {}, {{"data_dir", config.data_dir}, {"network", network}}})
            .value());
  };
  EXPECT_EQ(with("signet").value().network, "signet");
  for (const std::string network : {"mainnet", "devnet"}) {  // the default too, if it was said
    const auto other = with(network);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Code::kConflict);
    EXPECT_NE(other.error().message.find("bitcoin signet, not bitcoin " + network),
              std::string::npos);
  }
}

}  // namespace
}  // namespace coffer::app
