// The chain of a data directory, for commands that look at what a daemon stored.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <coffer/chainstate/chain_state.h>
#include <coffer/kv/database.h>
#include "config/config.h"

namespace coffer::node {

struct StoredChain {
  chain::Network network;
  std::unique_ptr<chainstate::ChainState> chain;
};
// The chain of a database that is open; its own word counts, not the settings'.
// Errors: kNotFound if there is nothing yet; kCorrupt, kUnavailable.
Result<StoredChain> open_stored_chain(const config::Config& config, kv::Database& db);

// The block of a chain that is open; nothing if it has none so high.
Result<std::optional<Hash256>> block_at(const chainstate::ChainState& chain, std::uint64_t height);
// The same of what the data directory knows of the chain of this network; opened when it is asked
// for the first time, and as it was then.
std::function<Result<std::optional<Hash256>>(std::uint64_t)> stored_blocks(
    const config::Config& config, const chain::Network& network);

}  // namespace coffer::node
