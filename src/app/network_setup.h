// Which network the settings mean.
#pragma once

#include "chain/network.h"
#include "config/config.h"

namespace coffer::app {

// A built-in network, checked against the genesis files if those are given (E15), or a private
// Cardano network made from them. Errors: kUsage, kNotFound, kInvalidInput naming a file.
Result<chain::Network> configured_network(const config::Config& config);

}  // namespace coffer::app
