// The commands on the command line that change what a wallet knows of transactions and coins.
#include "app/command_tree.h"
#include "app/wallet_commands.h"

namespace coffer::app {
namespace {

void add_record(CLI::App& wallet, Parsed& parsed) {
  static WalletRecord record;
  CLI::App* command =
      add_wallet_command(wallet, parsed, "record", "Put a transaction into a wallet",
                         "  coffer wallet record shop @signed.hex --status pending\n"
                         "  bitcoin-cli getrawtransaction TXID | coffer wallet record shop -\n"
                         "  coffer wallet record shop HEX --height 800000 --block HASH --index 3\n",
                         [](const Context& c) { return run_wallet_record(c, record); });
  add_wallet_name(*command, record.wallet);
  command->add_option("transaction", record.raw, "hex, @FILE, or - for standard input")->required();
  command
      ->add_option("--status", record.status,
                   "pending (not broadcast yet) or published (default: published)")
      ->check(CLI::IsMember({"pending", "published"}));
  command->add_option("--height", record.height, "confirmed in the block of this height")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{0x7fffffff}))
      ->type_name("N");
  command->add_option("--block", record.block, "its hash")->type_name("HASH");
  command->add_option("--index", record.index, "the transaction's place in it, from 0")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{0x7fffffff}))
      ->type_name("N");
  command->add_option("--time", record.block_time_s, "the block's time, in seconds since 1970")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->type_name("SECONDS");
  command->add_flag("--bump", record.bump,
                    "pending: it may spend what an unconfirmed transaction spends");
  command->add_option("--lock-id", record.lock_id, "pending: coins leased under it are no obstacle")
      ->type_name("HEX");
  command->add_flag("--force", record.force,
                    "pending: no lease and no young coinbase is an obstacle");
}

using RunChange = Result<> (*)(const Context&, const std::string&, const std::string&);

void add_change(CLI::App& wallet, Parsed& parsed, const char* name, const char* help,
                RunChange run) {
  struct ChangeArguments {
    std::string wallet, tx;
  };
  static std::vector<std::unique_ptr<ChangeArguments>> all;
  ChangeArguments* const given = all.emplace_back(std::make_unique<ChangeArguments>()).get();
  CLI::App* command = add_wallet_command(
      wallet, parsed, name, help, fmt::format("  coffer wallet {} shop TXID\n", name),
      [given, run](const Context& c) { return run(c, given->wallet, given->tx); });
  add_wallet_name(*command, given->wallet);
  command->add_option("transaction", given->tx, "its id")->required();
}

void add_lease_options(CLI::App& command, WalletLease& lease, bool coins_required) {
  add_wallet_name(command, lease.wallet);
  command.add_option("output", lease.coins, "TX#INDEX, one or more; all of them or none")
      ->required(coins_required);
  command.add_option("--lock-id", lease.lock_id, "32 bytes of your choice, who holds them")
      ->required()
      ->type_name("HEX");
}

void add_leases(CLI::App& wallet, Parsed& parsed) {
  static WalletLease lease, renew, release;
  renew.renew = true;
  CLI::App* take = add_wallet_command(
      wallet, parsed, "lease", "Reserve coins for a while, for one who spends them",
      "  coffer wallet lease shop TX#0 TX#1 --lock-id HEX --for 10m\n",
      [](const Context& c) { return run_wallet_lease(c, lease); });
  add_lease_options(*take, lease, true);
  take->add_option("--for", lease.duration, "how long: 30s, 10m, 2h, 1d")
      ->required()
      ->type_name("DURATION");
  static WalletSelect select;
  CLI::App* choose = add_wallet_command(
      wallet, parsed, "select", "Choose coins worth an amount and lease them, as one",
      "  coffer wallet select shop 150000 --lock-id HEX --for 10m\n"
      "  coffer wallet select shop 150000 --lock-id HEX --for 10m --order oldest --json\n",
      [](const Context& c) { return run_wallet_select(c, select); });
  add_wallet_name(*choose, select.wallet);
  choose->add_option("amount", select.amount, "satoshi; what the lock id holds already counts")
      ->required();
  choose->add_option("--lock-id", select.lock_id, "32 bytes of your choice, who holds them")
      ->required()
      ->type_name("HEX");
  choose->add_option("--for", select.duration, "how long: 30s, 10m, 2h, 1d")
      ->required()
      ->type_name("DURATION");
  choose->add_option("--order", select.order, "which first: largest (default), oldest …")
      ->type_name("ORDER");
  choose->add_option("--account", select.account, "only of this account")->type_name("NAME");
  choose->add_flag("--chain-pending", select.chain_pending, "unconfirmed and pending ones as well");
  CLI::App* again =
      add_wallet_command(wallet, parsed, "renew", "Keep coins that are leased for longer",
                         "  coffer wallet renew shop TX#0 --lock-id HEX --for 10m\n",
                         [](const Context& c) { return run_wallet_lease(c, renew); });
  add_lease_options(*again, renew, true);
  again->add_option("--for", renew.duration, "how long from now: 30s, 10m, 2h, 1d")
      ->required()
      ->type_name("DURATION");
  CLI::App* back =
      add_wallet_command(wallet, parsed, "release", "Give leased coins back",
                         "  coffer wallet release shop TX#0 --lock-id HEX\n"
                         "  coffer wallet release shop --all --lock-id HEX\n",
                         [](const Context& c) { return run_wallet_release(c, release); });
  add_lease_options(*back, release, false);
  back->add_flag("--all", release.all, "all that this lock id holds in the wallet");
  add_wallet_command(wallet, parsed, "clean-leases", "Take expired leases away, in all wallets",
                     "  coffer wallet clean-leases\n", run_wallet_clean_leases);
}

void add_histories(CLI::App& wallet, Parsed& parsed) {
  static WalletRescan rescan;
  CLI::App* again = add_wallet_command(
      wallet, parsed, "rescan", "Look at old blocks again, for coins of what was imported later",
      "  coffer wallet rescan shop --from 800000\n"
      "  coffer wallet rescan shop --source rpc:http://user:password@127.0.0.1:8332\n",
      [](const Context& c) { return run_wallet_rescan(c, rescan); }, {"source", "devnet."});
  add_wallet_name(*again, rescan.wallet);
  again->add_option("--from", rescan.from, "the first height (default: the wallet's birthday)")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{0x7fffffff}))
      ->type_name("N");

  static WalletHistory history;
  CLI::App* file =
      add_wallet_command(wallet, parsed, "import-history",
                         "Read what another wallet program wrote: docs/formats/wallet_history.md",
                         "  coffer wallet import-history shop export.jsonl --dry-run\n"
                         "  coffer wallet import-history shop export.jsonl\n",
                         [](const Context& c) { return run_wallet_import_history(c, history); });
  add_wallet_name(*file, history.wallet);
  file->add_option("file", history.file, "lines of JSON")->required();
  file->add_flag("--dry-run", history.dry_run,
                 "read all of it into a database that is thrown away");
  file->add_flag("--no-backup", history.no_backup, "do not copy the SQLite database first");
}

}  // namespace

void add_wallet_changes(CLI::App& wallet, Parsed& parsed) {
  add_histories(wallet, parsed);
  add_record(wallet, parsed);
  add_change(wallet, parsed, "publish", "Say that a pending transaction was broadcast",
             run_wallet_publish);
  add_change(wallet, parsed, "cancel", "Give a pending transaction up; its coins are free again",
             run_wallet_cancel);
  add_leases(wallet, parsed);

  static WalletPrune prune;
  CLI::App* clear = add_wallet_command(wallet, parsed, "prune",
                                       "Clear away old transactions that nothing can need any more",
                                       "  coffer wallet prune shop --dry-run\n"
                                       "  coffer wallet prune shop --invalid-older-than 90d\n",
                                       [](const Context& c) { return run_wallet_prune(c, prune); });
  add_wallet_name(*clear, prune.wallet);
  clear->add_flag("--dry-run", prune.dry_run, "only say what would go");
  clear
      ->add_option("--invalid-older-than", prune.invalid_older_than,
                   "also replaced, failed and orphaned ones of this age")
      ->type_name("DURATION");

  static WalletLabel label;
  CLI::App* name =
      add_wallet_command(wallet, parsed, "label", "Label a transaction, address or output",
                         "  coffer wallet label shop tx TXID 'rent of May'\n"
                         "  coffer wallet label shop address bc1q… ''      takes it away\n",
                         [](const Context& c) { return run_wallet_label(c, label); });
  add_wallet_name(*name, label.wallet);
  name->add_option("kind", label.kind, "tx, address or output")->required();
  name->add_option("ref", label.ref, "a txid, an address, or TX#INDEX")->required();
  name->add_option("text", label.text, "the label; empty takes it away")->required();
}

}  // namespace coffer::app
