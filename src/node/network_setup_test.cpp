#include "node/network_setup.h"

#include <gtest/gtest.h>

namespace coffer::node {
namespace {

TEST(TipAge, DefaultFollowsTheNetworksPace) {
  const auto natural = [](const char* chain, const char* network, const char* source) {
    return natural_max_tip_age_s(chain::find_network(chain, network).value(), source);
  };
  for (const char* network : {"mainnet", "testnet", "testnet4", "signet"})
    EXPECT_EQ(natural("bitcoin", network, "rpc:http://127.0.0.1:1"), 4u * 3'600) << network;
  for (const char* network : {"mainnet", "preprod", "preview"})
    EXPECT_EQ(natural("cardano", network, "n2c:/run/node.socket"), 15u * 60) << network;
  for (const char* network : {"regtest", "devnet"})
    EXPECT_EQ(natural("bitcoin", network, "rpc:http://127.0.0.1:1"), std::nullopt) << network;
  EXPECT_EQ(natural("cardano", "devnet", "n2c:/run/node.socket"), std::nullopt);
  EXPECT_EQ(natural("cardano", "mainnet", "immutable:/db"), std::nullopt);
}

}  // namespace
}  // namespace coffer::node
