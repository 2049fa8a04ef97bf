#include "node/sql_store.h"

#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "node/database.h"

namespace coffer::node {
namespace {

TEST(StoredNetwork, NeedNotBeGivenAgain) {
  const TempDir dir;
  config::Config config;
  config.data_dir = dir.path().string();
  EXPECT_EQ(stored_network_config(config).value().network, "devnet");  // nothing there yet
  EXPECT_FALSE(stored_network_config(config).value().is_given("network"));
  const auto signet = chain::find_network("bitcoin", "signet").value();
  {
    const auto db = kv::Database::open(database_options(config, false).value()).value();
    const auto meta = db->column(chainstate::kMetaColumn).value();
    kv::Batch batch;
    chainstate::put_identity(batch, meta, chainstate::Identity::of(signet));
    ASSERT_TRUE(db->commit(batch));
  }
  EXPECT_EQ(stored_network_config(config).value().network, "signet");
  EXPECT_TRUE(stored_network_config(config).value().is_given("network"));
  const auto with = [&](const std::string& network) {
    return stored_network_config(
        config::load_config({"", {}, {{"data_dir", config.data_dir}, {"network", network}}})
            .value());
  };
  EXPECT_EQ(with("signet").value().network, "signet");
  for (const std::string network : {"mainnet", "devnet"}) {  // the default too, if it was said
    const auto other = with(network);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Code::kConflict);
    EXPECT_NE(other.error().message.find("bitcoin signet, not to bitcoin " + network),
              std::string::npos);
  }
}

}  // namespace
}  // namespace coffer::node
