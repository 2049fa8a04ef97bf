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

// How old the newest block of a network may get before something must be wrong, by its own pace:
// 24 times the average of Bitcoin, 45 times that of Cardano, which happens by chance less than once
// in 100,000 years. Nothing where blocks come when somebody wants them, or late by design.
std::optional<std::uint64_t> natural_max_tip_age_s(const chain::Network& network,
                                                   std::string_view source);

}  // namespace coffer::node
