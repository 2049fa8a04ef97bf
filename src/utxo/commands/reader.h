// The UTXO state of a data directory for somebody who only looks, also beside a running daemon.
#pragma once

#include <coffer/chainstate/chain_state.h>
#include <coffer/utxo/store.h>
#include "config/config.h"

namespace coffer::utxo {

// Destroyed from the last to the first: users before what they use.
struct UtxoReader {
  std::unique_ptr<kv::Database> db;
  chain::Network network;
  std::unique_ptr<chainstate::ChainState> chain;
  std::unique_ptr<utxo::UtxoState> state;

  // Errors: kNotFound and kUnavailable with the next step; kCorrupt.
  static Result<UtxoReader> open(const config::Config& config);
};

}  // namespace coffer::utxo
