// coffer wallet …: each prints its result on stdout and returns an error instead of printing it.
// All work beside a daemon. What is typed is checked before anything is changed.
#pragma once

#include <coffer/wallet/store.h>
#include "http/message.h"
#include "node/command.h"

namespace coffer::wallet {

using node::Context;

// commands.cpp: all of them as data.
std::vector<cli::Command> wallet_commands();
// change_commands.cpp: those that change what a wallet knows of transactions and coins.
std::vector<cli::Command> wallet_change_commands();
// One of them, without what it takes and does. Settings: those that find the database and tell the
// network of a new one, and `more`.
cli::Command wallet_command(std::vector<std::string> path, const char* summary,
                            const char* examples, const std::vector<std::string>& more = {});

// reads.cpp. Errors: kUsage for what was typed; kNotFound; those of OpenWallet::open.
struct WalletQuery {
  std::string wallet;
  http::Fields query = {};  // count, cursor, filters, as on HTTP
};
Result<> run_wallet_list(const Context& context, const WalletQuery& query);
Result<> run_wallet_labels(const Context& context, const WalletQuery& query);
Result<> run_wallet_pruned(const Context& context, const WalletQuery& query);
Result<> run_wallet_accounts(const Context& context, const WalletQuery& query);
Result<> run_wallet_descriptors(const Context& context, const WalletQuery& query);
Result<> run_wallet_addresses(const Context& context, const WalletQuery& query);
Result<> run_wallet_balance(const Context& context, const WalletQuery& query);
Result<> run_wallet_coins(const Context& context, const WalletQuery& query);
Result<> run_wallet_history(const Context& context, const WalletQuery& query);
Result<> run_wallet_leases(const Context& context, const WalletQuery& query);
Result<> run_wallet_show(const Context& context, const std::string& wallet, const std::string& tx);
Result<> run_wallet_coin(const Context& context, const std::string& wallet,
                         const std::string& output);
Result<> run_wallet_stats(const Context& context);
Result<> run_wallet_verify(const Context& context);

// imports.cpp
Result<> run_wallet_create(const Context& context, const wallet::Store::NewWallet& wallet);
struct WalletImport {
  std::string wallet;
  std::vector<std::string> items;  // a descriptor, a file, addresses or scripts
  wallet::ImportOptions options = {};
};
Result<> run_wallet_import_descriptor(const Context& context, const WalletImport& import);
Result<> run_wallet_import_addresses(const Context& context, const WalletImport& import);
Result<> run_wallet_import_scripts(const Context& context, const WalletImport& import);
Result<> run_wallet_import_core(const Context& context, const WalletImport& import);
struct WalletNewAddress {
  std::string wallet, account = "default";
  bool change = false;
};
Result<> run_wallet_address(const Context& context, const WalletNewAddress& wanted);

// changes.cpp
struct WalletRecord {
  std::string wallet;
  std::string raw;  // hex, @FILE, or - for standard input
  std::string status;
  std::optional<std::uint64_t> height, index;
  std::optional<std::string> block, lock_id;
  std::int64_t block_time_s = 0;
  bool bump = false, force = false;
};
Result<> run_wallet_record(const Context& context, const WalletRecord& record);
Result<> run_wallet_publish(const Context& context, const std::string& wallet,
                            const std::string& tx);
Result<> run_wallet_cancel(const Context& context, const std::string& wallet,
                           const std::string& tx);
struct WalletLease {
  std::string wallet;
  std::vector<std::string> coins;  // TX#INDEX
  std::string lock_id, duration;
  bool renew = false;
  bool all = false;  // of release: whatever the lock id holds
};
Result<> run_wallet_lease(const Context& context, const WalletLease& lease);
struct WalletSelect {
  std::string wallet, amount, lock_id, duration, order = "largest";
  std::optional<std::string> account;
  bool chain_pending = false;
};
Result<> run_wallet_select(const Context& context, const WalletSelect& select);
Result<> run_wallet_release(const Context& context, const WalletLease& lease);
Result<> run_wallet_clean_leases(const Context& context);
struct WalletPrune {
  std::string wallet;
  bool dry_run = false;
  std::optional<std::string> invalid_older_than;  // a duration; nothing: invalid ones stay
};
Result<> run_wallet_prune(const Context& context, const WalletPrune& prune);
// In parts of options.limit, until nothing is left to prune; a dry run tells the first part.
// Errors: those of Store::prune; what is done by then stays so.
Result<wallet::Pruned> prune_all(wallet::Store& store, wallet::WalletId wallet,
                                 const wallet::PruneOptions& options);
struct WalletLabel {
  std::string wallet, kind, ref, text;
};
Result<> run_wallet_label(const Context& context, const WalletLabel& label);

// history.cpp
struct WalletRescan {
  std::string wallet;
  std::optional<std::uint64_t> from;  // nothing: the wallet's birthday
};
Result<> run_wallet_rescan(const Context& context, const WalletRescan& rescan);
struct WalletHistory {
  std::string wallet, file;
  bool dry_run = false;
  bool no_backup = false;  // of the SQLite database, before anything is changed
};
Result<> run_wallet_import_history(const Context& context, const WalletHistory& history);

// bench.cpp
struct BenchWalletArguments {
  std::string database;                // an empty one; nothing: SQLite in a scratch directory
  std::optional<std::uint64_t> coins;  // one case of this size; nothing: a row of cases
  std::uint64_t history = 1;           // spent coins for each unspent one
  std::uint64_t wallets = 1;
};
Result<> run_bench_wallet(const Context& context, const BenchWalletArguments& arguments);

}  // namespace coffer::wallet
