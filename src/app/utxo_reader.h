// The UTXO state of a data directory for somebody who only looks, also beside a running daemon.
#pragma once

#include "chainstate/chain_state.h"
#include "config/config.h"
#include "utxo/store.h"

namespace coffer::app {

// Destroyed from the last to the first: users before what they use.
struct UtxoReader {
  std::unique_ptr<kv::Database> db;
  chain::Network network;
  std::unique_ptr<chainstate::ChainState> chain;
  std::unique_ptr<utxo::UtxoState> state;

  // Errors: kNotFound and kUnavailable with the next step; kCorrupt.
  static Result<UtxoReader> open(const config::Config& config);
};

// The chain of a database that is open; its own word counts, not the settings'.
struct StoredChain {
  chain::Network network;
  std::unique_ptr<chainstate::ChainState> chain;
};
// Errors: kNotFound if there is nothing yet; kCorrupt, kUnavailable.
Result<StoredChain> open_stored_chain(const config::Config& config, kv::Database& db);

}  // namespace coffer::app
