// The commands that change what a wallet knows of transactions and coins, as data.
#include "node/command.h"
#include "wallet/commands/commands.h"

namespace coffer::wallet {
namespace {

using node::command;

constexpr const char* kWalletName = "Name of the wallet";
constexpr const char* kDurationHelp = "How long: 30s, 10m, 2h, 1d";
constexpr const char* kLockIdHelp = "Who holds them: 32 bytes of your choice";
constexpr cli::Range kHeights = {0, 0x7fffffff};

const cli::Details& lock_id_details() {
  static const cli::Details details{.value = "HEX", .required = true};
  return details;
}
const cli::Details& duration_details() {
  static const cli::Details details{.value = "DURATION", .required = true};
  return details;
}

cli::Command record_command() {
  using A = WalletRecord;
  return command<A>(
      wallet_command({"record"}, "Put a transaction into a wallet",
                     "  coffer wallet record shop @signed.hex --status pending\n"
                     "  bitcoin-cli getrawtransaction TXID | coffer wallet record shop -\n"
                     "  coffer wallet record shop HEX --height 800000 --block HASH --index 3\n"),
      {{"wallet", &A::wallet, kWalletName},
       {"transaction", &A::raw, "Hex, @FILE, or - for standard input"},
       {"--status",
        &A::status,
        "pending (not broadcast yet) or published (default: published)",
        {.value = "STATUS", .choices = {"pending", "published"}}},
       {"--height", &A::height, "Confirmed in the block of this height", {.range = kHeights}},
       {"--block", &A::block, "The block's hash", {.value = "HASH"}},
       {"--index", &A::index, "The transaction's place in it, from 0", {.range = kHeights}},
       {"--time",
        &A::block_time_s,
        "The block's time, in seconds since 1970",
        {.value = "SECONDS", .range = {0, std::uint64_t{1} << 40}}},
       {"--bump", &A::bump, "Pending: it may spend what an unconfirmed transaction spends"},
       {"--lock-id",
        &A::lock_id,
        "Pending: it may spend coins leased under this lock id",
        {.value = "HEX"}},
       {"--force", &A::force, "Pending: it may spend leased coins and immature coinbase outputs"}},
      run_wallet_record);
}

using RunChange = Result<> (*)(const Context&, const std::string&, const std::string&);

cli::Command change_command(const char* name, const char* summary, const char* examples,
                            RunChange run) {
  struct ChangeArguments {
    std::string wallet, tx;
  };
  return command<ChangeArguments>(
      wallet_command({name}, summary, examples),
      {{"wallet", &ChangeArguments::wallet, kWalletName},
       {"transaction", &ChangeArguments::tx, "Its id"}},
      [run](const Context& c, const ChangeArguments& a) { return run(c, a.wallet, a.tx); });
}

cli::Command select_command() {
  using A = WalletSelect;
  return command<A>(
      wallet_command(
          {"select"}, "Select coins worth at least AMOUNT and lease them atomically",
          "  coffer wallet select shop 150000 --lock-id HEX --for 10m\n"
          "  coffer wallet select shop 150000 --lock-id HEX --for 10m --order oldest --json\n"),
      {{"wallet", &A::wallet, kWalletName},
       {"amount", &A::amount, "In satoshi; coins that the lock id holds already count"},
       {"--lock-id", &A::lock_id, kLockIdHelp, lock_id_details()},
       {"--for", &A::duration, kDurationHelp, duration_details()},
       {"--order",
        &A::order,
        "largest, smallest, oldest or newest first",
        {.value = "ORDER", .show_default = true}},
       {"--account", &A::account, "Only of this account", {.value = "NAME"}},
       {"--chain-pending", &A::chain_pending, "Unconfirmed and pending ones as well"}},
      run_wallet_select);
}

std::vector<cli::Field<WalletLease>> lease_fields(cli::Details outputs = {}) {
  using A = WalletLease;
  return {{"wallet", &A::wallet, kWalletName},
          {"output", &A::coins, "TX#INDEX, one or more; all of them or none", std::move(outputs)},
          {"--lock-id", &A::lock_id, kLockIdHelp, lock_id_details()}};
}

std::vector<cli::Command> lease_commands() {
  using A = WalletLease;
  auto lease = lease_fields(), renew = lease_fields(), release = lease_fields({.optional = true});
  lease.push_back({"--for", &A::duration, kDurationHelp, duration_details()});
  renew.push_back(
      {"--for", &A::duration, "How long from now: 30s, 10m, 2h, 1d", duration_details()});
  release.push_back({"--all", &A::all, "Everything that this lock id holds in the wallet"});
  return {
      command<A>(
          wallet_command({"lease"}, "Lease coins: nobody else can select or spend them meanwhile",
                         "  coffer wallet lease shop TX#0 TX#1 --lock-id HEX --for 10m\n"),
          lease, run_wallet_lease),
      select_command(),
      command<A>(wallet_command({"renew"}, "Extend the lease of coins",
                                "  coffer wallet renew shop TX#0 --lock-id HEX --for 10m\n"),
                 renew,
                 [](const Context& c, A again) {
                   again.renew = true;
                   return run_wallet_lease(c, again);
                 }),
      command<A>(wallet_command({"release"}, "Release leased coins",
                                "  coffer wallet release shop TX#0 --lock-id HEX\n"
                                "  coffer wallet release shop --all --lock-id HEX\n"),
                 release, run_wallet_release),
      command(wallet_command({"clean-leases"}, "Remove expired leases, in all wallets",
                             "  coffer wallet clean-leases\n"),
              run_wallet_clean_leases),
  };
}

cli::Command rescan_command() {
  using A = WalletRescan;
  return command<A>(
      wallet_command({"rescan"}, "Scan old blocks again, for coins of what was imported later",
                     "  coffer wallet rescan shop --from 800000\n"
                     "  coffer wallet rescan shop \\\n"
                     "    --source 'rpc:http://127.0.0.1:8332?cookie=/srv/bitcoin/.cookie'\n",
                     {"source", "devnet."}),
      {{"wallet", &A::wallet, kWalletName},
       {"--from",
        &A::from,
        "The first height (default: the wallet's birthday)",
        {.value = "HEIGHT", .range = kHeights}}},
      run_wallet_rescan);
}

cli::Command import_history_command() {
  using A = WalletHistory;
  return command<A>(
      wallet_command({"import-history"},
                     "Import what another wallet program wrote: docs/formats/wallet_history.md",
                     "  coffer wallet import-history shop export.jsonl --dry-run\n"
                     "  coffer wallet import-history shop export.jsonl\n"),
      {{"wallet", &A::wallet, kWalletName},
       {"file", &A::file, "Lines of JSON"},
       {"--dry-run", &A::dry_run, "Read all of it into a database that is thrown away"},
       {"--no-backup", &A::no_backup, "Do not copy the SQLite database first"}},
      run_wallet_import_history);
}

cli::Command prune_command() {
  using A = WalletPrune;
  return command<A>(
      wallet_command({"prune"}, "Delete old transactions that nothing can need any more",
                     "  coffer wallet prune shop --dry-run\n"
                     "  coffer wallet prune shop --invalid-older-than 90d\n"),
      {{"wallet", &A::wallet, kWalletName},
       {"--dry-run", &A::dry_run, "Only print what would be deleted"},
       {"--invalid-older-than",
        &A::invalid_older_than,
        "Also delete replaced, failed and orphaned ones of this age",
        {.value = "DURATION"}}},
      run_wallet_prune);
}

cli::Command label_command() {
  using A = WalletLabel;
  return command<A>(
      wallet_command({"label"}, "Label a transaction, address or output",
                     "  coffer wallet label shop tx TXID 'rent of May'\n"
                     "  coffer wallet label shop address bc1q… ''      removes the label\n"),
      {{"wallet", &A::wallet, kWalletName},
       {"kind", &A::kind, "tx, address or output"},
       {"ref", &A::ref, "A txid, an address, or TX#INDEX"},
       {"text", &A::text, "The label; an empty one removes it"}},
      run_wallet_label);
}

}  // namespace

std::vector<cli::Command> wallet_change_commands() {
  std::vector<cli::Command> all = {
      rescan_command(), import_history_command(), record_command(),
      change_command("publish", "Mark a pending transaction as broadcast",
                     "  coffer wallet publish shop TXID\n", run_wallet_publish),
      change_command("cancel", "Cancel a pending transaction and free its coins",
                     "  coffer wallet cancel shop TXID\n", run_wallet_cancel)};
  for (cli::Command& command : lease_commands()) all.push_back(std::move(command));
  all.push_back(prune_command());
  all.push_back(label_command());
  return all;
}

}  // namespace coffer::wallet
