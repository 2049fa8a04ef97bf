// coffer wallet …: each prints its result on stdout and returns an error instead of printing it.
// All work beside a daemon. What is typed is checked before anything is changed.
#pragma once

#include <coffer/wallet/store.h>
#include "base/result.h"
#include "http/message.h"
#include "node/command.h"
#include "wallet/commands/open_wallet.h"
#include "wallet/json/verbs.h"

namespace coffer::wallet {

using node::Context;

inline constexpr const char* kWalletHelp = "Name of the wallet";

// commands.cpp: all of them as data.
std::vector<cli::Command> wallet_commands();
std::vector<cli::Command> wallet_import_commands();  // imports.cpp
std::vector<cli::Command> wallet_change_commands();  // changes.cpp
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

// What a verb that is about one wallet is done with.
struct WalletCommand {
  const Context& context;
  const chain::Network& network;
  wallet::Store& store;
  wallet::WalletId wallet;
};
// A command of such a verb; the wallet is typed first, and opened once all that is typed is read.
template <typename Request>
cli::Command wallet_verb(cli::Command base, node::Verb<Request> verb,
                         Result<> (*run)(const WalletCommand&, const Request&)) {
  base.options = {node::required("wallet", kWalletHelp)};
  return node::verb_command<Request>(
      std::move(base), std::move(verb),
      [run](const Context& context, const cli::Invocation& given,
            const Request& request) -> Result<> {
        const OpenWallet session = TRY(OpenWallet::open(context.config));
        const wallet::WalletId wallet = TRY(session.find(given.values.at("wallet").back()));
        return run({context, session.network, *session.store, wallet}, request);
      });
}
// Prints a result in the form that was asked for.
Result<> print_result(const Context& context, const std::string& json, const std::string& text);

// changes.cpp: in parts of options.limit, until nothing is left to prune; a dry run tells the first
// part. Errors: those of Store::prune; what is done by then stays so.
Result<wallet::Pruned> prune_all(wallet::Store& store, wallet::WalletId wallet,
                                 const wallet::PruneOptions& options);

// history.cpp
Result<> run_wallet_rescan(const Context& context, const std::string& wallet, const Rescan& rescan);
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
