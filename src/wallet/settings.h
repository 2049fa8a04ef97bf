// The settings of wallets, wallet.*.
#pragma once

#include <span>

#include <coffer/wallet/store.h>
#include "config/keys.h"

namespace coffer::wallet {

struct Settings {
  bool enabled = true;
  std::string database;  // empty: wallet.db in the data directory; may hold a password
  std::uint64_t max_connections = 8;
  std::uint64_t gap_limit = 20;
};

std::span<const config::Key> settings();

// Whether a run with these settings has wallets: they are switched on, and the chain is Bitcoin.
bool has_wallets(const config::Config& config);
// Why there are none on this chain: it is another than Bitcoin, or they are switched off.
Error no_wallets(std::string_view chain);
// Opens nothing. Errors: those of no_wallets().
Result<sql::DatabaseOptions> database_options(const config::Config& config);
// Nothing is pruned that a reorg within the chain's window could need (X1).
StoreOptions store_options(const config::Config& config, const chain::Network& network);

}  // namespace coffer::wallet
