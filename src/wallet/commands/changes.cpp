// The commands that change what a wallet knows of its transactions and coins.
#include "api/input.h"
#include "base/file.h"
#include "base/result.h"
#include "cli/output.h"
#include "cli/table.h"
#include "wallet/commands/commands.h"
#include "wallet/commands/view.h"
#include "wallet/json/input.h"
#include "wallet/json/output.h"

namespace coffer::wallet {
namespace {

using node::command;

Result<> run_wallet_record(const WalletCommand& on, const RecordTransaction& record) {
  const wallet::Recorded done = TRY(on.store.record(on.wallet, record.raw, record));
  return print_result(on.context, recorded_json(done), render_recorded(done));
}

using Change = Result<wallet::Recorded> (wallet::Store::*)(wallet::WalletId, const Hash256&);

Result<> print_leased(const WalletCommand& on, const LeaseRequest& request, std::int64_t until) {
  return print_result(on.context, leased_json(request.coins.size(), request.lock_id, until),
                      fmt::format("{} leased until {}\n",
                                  cli::counted(request.coins.size(), "coin"), time_text(until)));
}

Result<> run_wallet_lease(const WalletCommand& on, const LeaseRequest& request) {
  const std::int64_t until = TRY(cli::as_usage_error(on.store.lease(on.wallet, request)));
  return print_leased(on, request, until);
}

Result<> run_wallet_renew(const WalletCommand& on, const LeaseRequest& request) {
  const std::int64_t until = TRY(cli::as_usage_error(on.store.renew(on.wallet, request)));
  return print_leased(on, request, until);
}

Result<> run_wallet_select(const WalletCommand& on, const LeaseSelection& wanted) {
  const wallet::SelectedCoins selected = TRY(on.store.select_and_lease(on.wallet, wanted));
  return print_result(on.context, selected_json(on.network, wanted.lock_id, selected),
                      render_coins(on.network, {selected.coins, ""}) +
                          fmt::format("{} BTC leased until {}\n", btc_text(selected.amount),
                                      time_text(selected.expires_at_ms)));
}

Result<> run_wallet_release(const WalletCommand& on, const ReleaseCoins& release) {
  std::uint64_t count = release.coins.size();
  if (release.all)
    count = TRY(on.store.release_all(on.wallet, release.lock_id));
  else
    TRY(on.store.release(on.wallet, release.coins, release.lock_id));
  return print_result(on.context, released_json(count, release.lock_id),
                      fmt::format("{} released\n", cli::counted(count, "coin")));
}

Result<> run_wallet_clean_leases(const Context& context) {
  constexpr std::size_t kAtOnce = 10'000;
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  std::uint64_t gone = 0;
  for (std::uint64_t part = kAtOnce; part == kAtOnce; gone += part)
    part = TRY(session.store->clean_leases(kAtOnce));
  return print_result(context, cleaned_leases_json(gone, false),
                      fmt::format("{} taken away\n", cli::counted(gone, "expired lease")));
}

Result<> run_wallet_prune(const WalletCommand& on, const PruneOptions& options) {
  const wallet::Pruned sum = TRY(prune_all(on.store, on.wallet, options));
  return print_result(on.context, pruned_json(sum, options.dry_run),
                      render_pruned(sum, options.dry_run));
}

Result<> run_wallet_label(const WalletCommand& on, const SetLabel& given) {
  const LabelTarget target =
      TRY(cli::as_usage_error(parse_label_target(on.network, given.kind, given.ref)));
  TRY(cli::as_usage_error(on.store.set_label(on.wallet, target.kind, target.ref, given.label)));
  const std::string outcome =
      given.label.empty() ? "without a label now" : "labelled " + cli::printable(given.label);
  return print_result(on.context, label_json(target.kind, target.ref, given.label),
                      fmt::format("{} {} is {}\n", target.kind, target.ref, outcome));
}

cli::Command record_command() {
  return wallet_verb(
      wallet_command({"record"}, "Put a transaction into a wallet",
                     "  coffer wallet record shop @signed.hex --status pending\n"
                     "  bitcoin-cli getrawtransaction TXID | coffer wallet record shop -\n"
                     "  coffer wallet record shop HEX --height 800000 --block HASH --index 3\n"),
      verbs().record, run_wallet_record);
}

cli::Command change_command(const char* name, const char* summary, const char* examples,
                            Change what) {
  struct ChangeArguments {
    std::string wallet, tx;
  };
  return command<ChangeArguments>(
      wallet_command({name}, summary, examples),
      {{"wallet", &ChangeArguments::wallet, kWalletHelp},
       {"transaction", &ChangeArguments::tx, "Its id"}},
      [what](const Context& context, const ChangeArguments& given) -> Result<> {
        const Hash256 tx = TRY(cli::as_usage_error(parse_hash("transaction", given.tx)));
        const OpenWallet session = TRY(OpenWallet::open(context.config));
        const wallet::WalletId wallet = TRY(session.find(given.wallet));
        const wallet::Recorded done = TRY((session.store.get()->*what)(wallet, tx));
        return print_result(context, recorded_json(done), render_recorded(done));
      });
}

std::vector<cli::Command> lease_commands() {
  return {
      wallet_verb(
          wallet_command({"lease"}, "Lease coins: nobody else can select or spend them meanwhile",
                         "  coffer wallet lease shop TX#0 TX#1 --lock-id HEX --for 10m\n"),
          verbs().lease, run_wallet_lease),
      wallet_verb(
          wallet_command(
              {"select"}, "Select coins worth at least AMOUNT and lease them atomically",
              "  coffer wallet select shop 150000 --lock-id HEX --for 10m\n"
              "  coffer wallet select shop 150000 --lock-id HEX --for 10m --order oldest --json\n"),
          verbs().select, run_wallet_select),
      wallet_verb(wallet_command({"renew"}, "Extend the lease of coins",
                                 "  coffer wallet renew shop TX#0 --lock-id HEX --for 10m\n"),
                  verbs().renew, run_wallet_renew),
      wallet_verb(wallet_command({"release"}, "Release leased coins",
                                 "  coffer wallet release shop TX#0 --lock-id HEX\n"
                                 "  coffer wallet release shop --all --lock-id HEX\n"),
                  verbs().release, run_wallet_release),
      command(wallet_command({"clean-leases"}, "Remove expired leases, in all wallets",
                             "  coffer wallet clean-leases\n"),
              run_wallet_clean_leases),
  };
}

cli::Command rescan_command() {
  cli::Command rescan =
      wallet_command({"rescan"}, "Scan old blocks again, for coins of what was imported later",
                     "  coffer wallet rescan shop --from 800000\n"
                     "  coffer wallet rescan shop \\\n"
                     "    --source 'rpc:http://127.0.0.1:8332?cookie=/srv/bitcoin/.cookie'\n",
                     {"source", "devnet."});
  rescan.options = {node::required("wallet", kWalletHelp)};
  return node::verb_command<Rescan>(
      std::move(rescan), verbs().rescan,
      [](const Context& context, const cli::Invocation& given, const Rescan& wanted) {
        return run_wallet_rescan(context, given.values.at("wallet").back(), wanted);
      });
}

cli::Command import_history_command() {
  using A = WalletHistory;
  return command<A>(
      wallet_command({"import-history"},
                     "Import what another wallet program wrote: docs/formats/wallet_history.md",
                     "  coffer wallet import-history shop export.jsonl --dry-run\n"
                     "  coffer wallet import-history shop export.jsonl\n"),
      {{"wallet", &A::wallet, kWalletHelp},
       {"file", &A::file, "Lines of JSON"},
       {"--dry-run", &A::dry_run, "Read all of it into a database that is thrown away"},
       {"--no-backup", &A::no_backup, "Do not copy the SQLite database first"}},
      run_wallet_import_history);
}

cli::Command prune_command() {
  return wallet_verb(
      wallet_command({"prune"}, "Delete old transactions that nothing can need any more",
                     "  coffer wallet prune shop --dry-run\n"
                     "  coffer wallet prune shop --invalid-older-than 90d\n"),
      verbs().prune, run_wallet_prune);
}

cli::Command label_command() {
  return wallet_verb(
      wallet_command({"label"}, "Label a transaction, address or output",
                     "  coffer wallet label shop tx TXID 'rent of May'\n"
                     "  coffer wallet label shop address bc1q… ''      removes the label\n"),
      verbs().label, run_wallet_label);
}

}  // namespace

Result<wallet::Pruned> prune_all(wallet::Store& store, wallet::WalletId wallet,
                                 const wallet::PruneOptions& options) {
  wallet::Pruned sum;
  for (bool again = true; again;) {
    const wallet::Pruned part = TRY(store.prune(wallet, options));
    sum.transactions += part.transactions;
    sum.invalid += part.invalid;
    sum.coins += part.coins;
    sum.stubs = part.stubs;  // all that the wallet has by now
    sum.more = part.more;
    // What a dry run leaves in place it would only find again.
    again = part.more && !options.dry_run && part.transactions + part.invalid + part.coins > 0;
  }
  return sum;
}

std::vector<cli::Command> wallet_change_commands() {
  std::vector<cli::Command> all = {
      rescan_command(), import_history_command(), record_command(),
      change_command("publish", "Mark a pending transaction as broadcast",
                     "  coffer wallet publish shop TXID\n", &wallet::Store::publish),
      change_command("cancel", "Cancel a pending transaction and free its coins",
                     "  coffer wallet cancel shop TXID\n", &wallet::Store::cancel)};
  for (cli::Command& command : lease_commands()) all.push_back(std::move(command));
  all.push_back(prune_command());
  all.push_back(label_command());
  return all;
}

}  // namespace coffer::wallet
