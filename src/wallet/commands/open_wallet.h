// The wallets for a command: the SQL database is opened directly, beside whoever else uses it.
#pragma once

#include <functional>

#include <coffer/wallet/store.h>
#include "config/config.h"

namespace coffer::wallet {

// Destroyed from the last to the first: users before what they use.
struct OpenWallet {
  chain::Network network;
  std::unique_ptr<sql::Database> database;
  std::unique_ptr<wallet::Store> store;
  // Between two steps of long work, holding nothing: leaves others their turn to write. False once
  // the command was asked to end (cli::CatchInterrupts).
  std::function<bool()> go_on;

  // The network is that of the data directory, or else of the database, or else of the settings.
  // Only with `create` a database that is not there is made. Errors: kNotFound and kUnavailable
  // with the next step; kConflict if the settings name another network; those of Store::open.
  static Result<OpenWallet> open(const config::Config& config, bool create = false);

  // Errors: kNotFound with the next step.
  Result<wallet::WalletId> find(const std::string& name) const;
};

}  // namespace coffer::wallet
