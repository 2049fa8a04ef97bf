// The wallet's database as the settings ask for it: where it is, and whose data it may hold.
// Whoever opens it takes both from here, so that all see the same.
#pragma once

#include "chain/network.h"
#include "chainstate/chain_state.h"
#include "config/config.h"
#include "sql/location.h"
#include "wallet/settings.h"
#include "wallet/store.h"

namespace coffer::app {

// Whether a run with these settings has a wallet: it is switched on, and the chain is Bitcoin.
bool has_wallet(const config::Config& config);

// Thread-safe; opens nothing. Errors: kUnavailable if there is no wallet, saying why.
Result<sql::DatabaseOptions> wallet_database(const config::Config& config);

// Thread-safe. Nothing is pruned that a reorg within the chain's window could need (X1).
wallet::StoreOptions wallet_store_options(const config::Config& config,
                                          const chain::Network& network);

// The settings with chain and network of what the data directory holds, if it holds something, as
// if they were given: who works on it later need not repeat them. Errors: kConflict if the settings
// name others; those of kv::Database::open.
Result<config::Config> settled_config(const config::Config& config);

// All of it together, for those who work on the database alone.
struct WalletDatabase {
  config::Config config;  // settled
  chain::Network network;
  sql::DatabaseOptions options;
  sql::MigrateOptions migrations;
  sql::LocationInfo where;
};
// Opens no SQL database. Errors: as above.
Result<WalletDatabase> find_wallet_database(const config::Config& config);

// Before anything is made beside wallets that are there: that they are of the network of the
// settings. Errors: kConflict naming the next step; those of sql::Database::open but kNotFound.
Result<> check_wallet_network(const config::Config& config);

// For StoreOptions::block_at: the block of a chain that is open, nothing if it has none so high.
Result<std::optional<Hash256>> block_at(const chainstate::ChainState& chain, std::uint64_t height);
// The same of what the data directory knows of the chain of this network; opened when it is asked
// for the first time, and as it was then.
std::function<Result<std::optional<Hash256>>(std::uint64_t)> stored_blocks(
    const config::Config& config, const chain::Network& network);

// Of a database that holds wallets already: their network is taken over from it where the settings
// do not give one. Errors: kConflict if they give another.
// `may_reuse`: a database that holds no wallet and no block counts as one of no network.
Result<> settle_network(sql::Database& database, WalletDatabase& wallet, bool may_reuse = false);
// Whose wallets a backup may hold that is put into the place of this database: anybody's if there
// is none yet, the data directory follows no chain and the settings give no network; else those of
// the settings. Opens no SQL database. Errors: as above.
Result<> settle_restore(WalletDatabase& wallet);

}  // namespace coffer::app
