// The commands of the wallet on the command line.
#include "app/command_tree.h"
#include "app/wallet_commands.h"

namespace coffer::app {
namespace {

constexpr const char* kWalletExamples =
    "Examples:\n"
    "  coffer wallet create shop                      a wallet; it holds no private keys\n"
    "  coffer wallet import descriptor shop 'wpkh([d34db33f/84h/0h/0h]xpub…/<0;1>/*)'\n"
    "  coffer wallet address shop                     the next address to give out\n"
    "  coffer wallet balance shop                     what it holds, in BTC\n"
    "  coffer wallet coins shop --spendable --order largest --count 10\n"
    "  coffer wallet lease shop TX#0 TX#1 --lock-id HEX --for 10m\n"
    "  coffer wallet record shop @signed.hex --status pending\n"
    "  coffer wallet publish shop TXID                it was broadcast\n"
    "  coffer wallet history shop --json              as HTTP would say it\n\n"
    "All of them may run beside a daemon. Amounts that are typed are satoshi.";

// Which settings a command needs to find the database, and to know the network of a new one.
const std::vector<std::string_view> kWalletSettings = {"data_dir", "chain", "network", "wallet.",
                                                       "log."};

std::string examples(std::string_view lines) {
  return fmt::format("Examples:\n{}", lines);
}

// Options that become parameters as on HTTP; one that was not given is not there, and one that was
// given is, even if it is empty: without its filter a list would show too much.
class QueryOptions {
 public:
  explicit QueryOptions(CLI::App& command) : command_(command) {}

  // "--min-amount" is min_amount.
  QueryOptions& text(const char* name, const char* type, const char* help) {
    command_
        .add_option_function<std::string>(
            name, [this, parameter = key(name)](const std::string& v) { values_[parameter] = v; },
            help)
        ->type_name(type);
    return *this;
  }
  // `against` is a flag that says the opposite.
  QueryOptions& flag(const char* name, const char* parameter, const char* value, const char* help,
                     const char* against = nullptr) {
    CLI::Option* option = command_.add_flag_callback(
        name, [this, parameter, value] { values_[parameter] = value; }, help);
    if (against != nullptr) option->excludes(command_.get_option(against));
    return *this;
  }
  QueryOptions& page() {
    return text("--count", "N", "how many at most, up to 1000 (default: 100)")
        .text("--cursor", "TEXT", "go on where an earlier page ended");
  }
  http::Fields fields() const {
    http::Fields given;
    for (const auto& [name, value] : values_) given.push_back({name, value});
    return given;
  }

 private:
  static std::string key(std::string name) {
    name.erase(0, 2);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
  CLI::App& command_;
  std::map<std::string, std::string> values_;
};

using RunQuery = Result<> (*)(const Context&, const WalletQuery&);

// A command that takes a wallet and a query. What it fills lives as long as the program.
QueryOptions& add_query(CLI::App& wallet, Parsed& parsed, const char* name, const char* help,
                        std::string_view lines, RunQuery run, bool names_wallet = true) {
  struct Holder {
    std::string wallet;
    std::unique_ptr<QueryOptions> options;
  };
  static std::vector<std::unique_ptr<Holder>> holders;
  Holder* const holder = holders.emplace_back(std::make_unique<Holder>()).get();
  CLI::App* command =
      add_wallet_command(wallet, parsed, name, help, lines, [holder, run](const Context& c) {
        return run(c, {holder->wallet, holder->options->fields()});
      });
  if (names_wallet) add_wallet_name(*command, holder->wallet);
  holder->options = std::make_unique<QueryOptions>(*command);
  return *holder->options;
}

void add_reads(CLI::App& wallet, Parsed& parsed) {
  add_query(wallet, parsed, "list", "List the wallets", "  coffer wallet list\n", run_wallet_list,
            false)
      .page();
  add_query(wallet, parsed, "accounts", "List the accounts of a wallet",
            "  coffer wallet accounts shop\n", run_wallet_accounts);
  add_query(wallet, parsed, "descriptors", "List what was imported, and how far it is in use",
            "  coffer wallet descriptors shop\n", run_wallet_descriptors);
  add_query(wallet, parsed, "addresses", "List the addresses and scripts that are watched",
            "  coffer wallet addresses shop --count 20\n", run_wallet_addresses)
      .page();
  add_query(wallet, parsed, "balance", "Show what a wallet, an account or an address holds",
            "  coffer wallet balance shop\n  coffer wallet balance shop --account savings --json\n",
            run_wallet_balance)
      .text("--account", "NAME", "only of this account")
      .text("--address", "ADDR", "only of this address, or script in hex");
  add_query(wallet, parsed, "coins", "List coins: by default all that are unspent and alive",
            "  coffer wallet coins shop --spendable --order largest\n"
            "  coffer wallet coins shop --state spent,locked --min-amount 100000\n",
            run_wallet_coins)
      .text("--state", "LIST",
            "confirmed, unconfirmed, immature, pending, locked, spent, dead, orphaned; several "
            "with commas")
      .text("--account", "NAME", "only of this account")
      .text("--address", "ADDR", "only of this address, or script in hex")
      .text("--min-amount", "SATOSHI", "at least so much")
      .text("--max-amount", "SATOSHI", "at most so much")
      .text("--min-confirmations", "N", "at least so many")
      .text("--max-confirmations", "N", "at most so many")
      .flag("--leased", "leased", "true", "only leased ones")
      .flag("--unleased", "leased", "false", "only those that are not leased", "--leased")
      .flag("--spendable", "spendable", "true",
            "only what may be spent now: confirmed, mature, not leased")
      .flag("--chain-pending", "chain_pending", "true",
            "with --spendable: unconfirmed and pending ones as well")
      .text("--order", "ORDER", "oldest, newest, largest or smallest first (default: oldest)")
      .page();
  add_query(wallet, parsed, "history", "List transactions, newest first",
            "  coffer wallet history shop --unconfirmed\n"
            "  coffer wallet history shop --status replaced,failed --json\n",
            run_wallet_history)
      .text("--status", "LIST",
            "pending, published, replaced, failed, orphaned; several with commas")
      .flag("--confirmed", "confirmed", "true", "only confirmed ones")
      .flag("--unconfirmed", "confirmed", "false", "only unconfirmed ones", "--confirmed")
      .page();
  add_query(wallet, parsed, "leases", "List the leases that have not expired",
            "  coffer wallet leases shop\n", run_wallet_leases)
      .page();
  add_query(wallet, parsed, "labels", "List the labels, also of what the wallet does not know",
            "  coffer wallet labels shop\n", run_wallet_labels)
      .page();
  add_query(wallet, parsed, "pruned", "Show what pruning has taken away, in sums",
            "  coffer wallet pruned shop\n", run_wallet_pruned);
  static std::string coin_wallet, output;
  CLI::App* coin = add_wallet_command(
      wallet, parsed, "coin", "Show one coin", "  coffer wallet coin shop TX#0\n",
      [](const Context& c) { return run_wallet_coin(c, coin_wallet, output); });
  add_wallet_name(*coin, coin_wallet);
  coin->add_option("output", output, "TX#INDEX")->required();
  static std::string name, tx;
  CLI::App* show =
      add_wallet_command(wallet, parsed, "show", "Show one transaction with its inputs and outputs",
                         "  coffer wallet show shop TXID\n",
                         [](const Context& c) { return run_wallet_show(c, name, tx); });
  add_wallet_name(*show, name);
  show->add_option("transaction", tx, "its id")->required();
  add_wallet_command(wallet, parsed, "stats", "Show how much there is of everything",
                     "  coffer wallet stats\n", run_wallet_stats);
  add_wallet_command(wallet, parsed, "verify",
                     "Check all wallets: every rule that must hold, recomputed",
                     "  coffer wallet verify\n", run_wallet_verify);
}

void add_account_options(CLI::App& command, wallet::ImportOptions& options) {
  command.add_option("--account", options.account, "the account that it belongs to")
      ->capture_default_str()
      ->type_name("NAME");
  command.add_flag("--internal", options.internal, "for change");
}

void add_imports(CLI::App& wallet, Parsed& parsed) {
  CLI::App* import =
      wallet.add_subcommand("import", "Say what is yours: descriptors, addresses, scripts")
          ->require_subcommand(1)
          ->footer(examples("  coffer wallet import descriptor shop 'wpkh(xpub…/<0;1>/*)'\n"
                            "  coffer wallet import address shop bc1q…\n"
                            "  coffer wallet import core shop listdescriptors.json\n"));
  static WalletImport descriptor, addresses, scripts, core;
  CLI::App* one = add_wallet_command(
      *import, parsed, "descriptor", "Watch the scripts of an output descriptor",
      "  coffer wallet import descriptor shop 'tr(xpub…/0/*)#checksum'\n"
      "  coffer wallet import descriptor shop 'wpkh(xpub…/<0;1>/*)' --account b\n",
      [](const Context& c) { return run_wallet_import_descriptor(c, descriptor); });
  add_wallet_name(*one, descriptor.wallet);
  descriptor.items.resize(1);
  one->add_option("descriptor", descriptor.items.front(),
                  "public keys only; a checksum is checked if it is there")
      ->required();
  add_account_options(*one, descriptor.options);
  one->add_option("--next-index", descriptor.options.next_index,
                  "the first index that was not given out yet")
      ->type_name("N");
  one->add_option("--watch-to", descriptor.options.watch_to,
                  "watch so many, whatever the gap limit says")
      ->type_name("N");

  CLI::App* some = add_wallet_command(
      *import, parsed, "address", "Watch single addresses",
      "  coffer wallet import address shop bc1q… bc1p…\n",
      [](const Context& c) { return run_wallet_import_addresses(c, addresses); });
  add_wallet_name(*some, addresses.wallet);
  some->add_option("address", addresses.items, "one or more")->required();
  add_account_options(*some, addresses.options);

  CLI::App* raw =
      add_wallet_command(*import, parsed, "script", "Watch single scripts",
                         "  coffer wallet import script shop 0014…\n",
                         [](const Context& c) { return run_wallet_import_scripts(c, scripts); });
  add_wallet_name(*raw, scripts.wallet);
  raw->add_option("script", scripts.items, "one or more, in hex")->required();
  add_account_options(*raw, scripts.options);

  CLI::App* file =
      add_wallet_command(*import, parsed, "core", "Go on where a wallet of Bitcoin Core stands",
                         "  bitcoin-cli listdescriptors > listdescriptors.json\n"
                         "  coffer wallet import core shop listdescriptors.json\n",
                         [](const Context& c) { return run_wallet_import_core(c, core); });
  add_wallet_name(*file, core.wallet);
  core.items.resize(1);
  file->add_option("file", core.items.front(), "what 'bitcoin-cli listdescriptors' printed")
      ->required();
}

void add_wallets(CLI::App& wallet, Parsed& parsed) {
  static wallet::Store::NewWallet made;
  CLI::App* create = add_wallet_command(
      wallet, parsed, "create", "Make a wallet",
      "  coffer wallet create shop\n  coffer wallet create old --birthday 700000\n",
      [](const Context& c) { return run_wallet_create(c, made); });
  create->add_option("name", made.name, "up to 100 characters")->required();
  create->add_option("--birthday", made.birthday_height, "no block before this height concerns it")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{0x7fffffff}))
      ->type_name("HEIGHT");
  create->add_option("--gap-limit", made.gap_limit, "unused addresses that are watched ahead")
      ->check(CLI::Range(1, 100'000))
      ->type_name("N");

  static WalletNewAddress next;
  CLI::App* address =
      add_wallet_command(wallet, parsed, "address", "Give out a new address",
                         "  coffer wallet address shop\n  coffer wallet address shop --change\n",
                         [](const Context& c) { return run_wallet_address(c, next); });
  add_wallet_name(*address, next.wallet);
  address->add_option("--account", next.account, "of this account")
      ->capture_default_str()
      ->type_name("NAME");
  address->add_flag("--change", next.change, "for change");
}

}  // namespace

CLI::App* add_wallet_command(CLI::App& parent, Parsed& parsed, const char* name, const char* help,
                             std::string_view lines, std::function<Result<>(const Context&)> action,
                             const std::vector<std::string_view>& more_settings) {
  CLI::App* command = parent.add_subcommand(name, help);
  std::vector<std::string_view> settings = kWalletSettings;
  settings.insert(settings.end(), more_settings.begin(), more_settings.end());
  add_settings(*command, parsed, settings);
  command->footer(examples(lines));
  command->callback([&parsed, action = std::move(action)] { parsed.action = action; });
  return command;
}

void add_wallet_commands(CLI::App& app, Parsed& parsed) {
  CLI::App* wallet =
      app.add_subcommand("wallet", "Whose coins are whose: balances, history, leases (Bitcoin)")
          ->require_subcommand(1)
          ->footer(kWalletExamples);
  add_wallets(*wallet, parsed);
  add_imports(*wallet, parsed);
  add_reads(*wallet, parsed);
  add_wallet_changes(*wallet, parsed);
}

}  // namespace coffer::app
