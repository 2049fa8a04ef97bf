// Which network the settings mean.
#pragma once

#include <vector>

#include <coffer/chain/genesis.h>
#include <coffer/chain/network.h>
#include "config/config.h"

namespace coffer::node {

// A built-in network, checked against the genesis files if those are given (E15), or a private
// Cardano network made from them. Errors: kUsage, kNotFound, kInvalidInput naming a file.
Result<chain::Network> configured_network(const config::Config& config);

// The outputs that the chain begins with, in order of outpoint; none without config.genesis.
// Errors: kUsage for files of another network or on a chain that has none; those of
// chain::load_genesis_utxos. Cost: mainnet's files take some 100 ms.
Result<std::vector<chain::GenesisUtxo>> genesis_utxos(const config::Config& config,
                                                      const chain::Network& network);

}  // namespace coffer::node
