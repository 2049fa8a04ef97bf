// The UTXO state as the settings ask for it: its options, columns and genesis outputs.
#pragma once

#include <vector>

#include "chain/genesis.h"
#include "chain/network.h"
#include "config/config.h"
#include "kv/database.h"
#include "utxo/settings.h"

namespace coffer::app {

// All columns that a UTXO state can have, for those who only look. Thread-safe.
std::vector<kv::ColumnOptions> all_utxo_columns();

// The outputs that the chain begins with, in order of outpoint; none without config.genesis.
// Errors: kUsage for files of another network or on a chain that has none; those of
// chain::load_genesis_utxos. Cost: mainnet's files take some 100 ms.
Result<std::vector<chain::GenesisUtxo>> genesis_utxos(const config::Config& config,
                                                      const chain::Network& network);

}  // namespace coffer::app
