// The commands of the wallet, as data: those that read, and all of them together.
#include "wallet/commands/commands.h"
#include "node/audited.h"

namespace coffer::wallet {
namespace {

using node::command;
using node::query_flag;
using node::query_option;

constexpr const char* kWalletExamples =
    "  coffer wallet create shop                      a wallet; it holds no private keys\n"
    "  coffer wallet import descriptor shop 'wpkh([d34db33f/84h/0h/0h]xpub…/<0;1>/*)'\n"
    "  coffer wallet address shop                     the next address to give out\n"
    "  coffer wallet balance shop                     what it holds, in BTC\n"
    "  coffer wallet coins shop --spendable --order largest --count 10\n"
    "  coffer wallet lease shop TX#0 TX#1 --lock-id HEX --for 10m\n"
    "  coffer wallet record shop @signed.hex --status pending\n"
    "  coffer wallet publish shop TXID                it was broadcast\n"
    "  coffer wallet history shop --json              as HTTP would say it\n";

using WalletQueryField = cli::Field<WalletQuery>;

WalletQueryField wallet_option(const std::string& name, std::string value, std::string help) {
  return query_option<WalletQuery>(name, std::move(value), std::move(help));
}
WalletQueryField wallet_flag(std::string name, http::Field parameter, std::string help,
                             std::string excludes) {
  return query_flag<WalletQuery>(std::move(name), std::move(parameter), std::move(help),
                                 std::move(excludes));
}

WalletQueryField queried_wallet() {
  return {"wallet", &WalletQuery::wallet, kWalletHelp};
}
WalletQueryField of_account() {
  return wallet_option("--account", "NAME", "Only of this account");
}
WalletQueryField of_address() {
  return wallet_option("--address", "ADDR", "Only of this address, or script in hex");
}
WalletQueryField page_count() {
  return wallet_option("--count", "N", "How many at most, up to 1000 (default: 100)");
}
WalletQueryField page_cursor() {
  return wallet_option("--cursor", "TEXT", "Go on where an earlier page ended");
}

cli::Command coins_command() {
  return command<WalletQuery>(
      wallet_command({"coins"}, "List coins: by default all that are unspent and alive",
                     "  coffer wallet coins shop --spendable --order largest\n"
                     "  coffer wallet coins shop --state spent,locked --min-amount 100000\n"),
      {queried_wallet(),
       wallet_option("--state", "LIST",
                     "Only in these states: confirmed, unconfirmed, immature, pending, locked, "
                     "spent, dead, orphaned; several with commas"),
       of_account(), of_address(),
       wallet_option("--min-amount", "SATOSHI", "Only of at least this amount"),
       wallet_option("--max-amount", "SATOSHI", "Only of at most this amount"),
       wallet_option("--min-confirmations", "N", "Only with at least so many confirmations"),
       wallet_option("--max-confirmations", "N", "Only with at most so many confirmations"),
       wallet_flag("--leased", {"leased", "true"}, "Only leased ones", ""),
       wallet_flag("--unleased", {"leased", "false"}, "Only those that are not leased", "--leased"),
       wallet_flag("--spendable", {"spendable", "true"},
                   "Only what may be spent now: confirmed, mature, not leased", ""),
       wallet_flag("--chain-pending", {"chain_pending", "true"},
                   "With --spendable: unconfirmed and pending ones as well", ""),
       wallet_option("--order", "ORDER",
                     "oldest, newest, largest or smallest first (default: oldest)"),
       page_count(), page_cursor()},
      run_wallet_coins);
}

cli::Command history_command() {
  return command<WalletQuery>(
      wallet_command({"history"}, "List transactions, newest first",
                     "  coffer wallet history shop --unconfirmed\n"
                     "  coffer wallet history shop --status replaced,failed --json\n"),
      {queried_wallet(),
       wallet_option("--status", "LIST",
                     "Only of these: pending, published, replaced, failed, orphaned; several with "
                     "commas"),
       wallet_flag("--confirmed", {"confirmed", "true"}, "Only confirmed ones", ""),
       wallet_flag("--unconfirmed", {"confirmed", "false"}, "Only unconfirmed ones", "--confirmed"),
       page_count(), page_cursor()},
      run_wallet_history);
}

std::vector<cli::Command> wallet_list_commands() {
  return {
      command<WalletQuery>(wallet_command({"list"}, "List the wallets", "  coffer wallet list\n"),
                           {page_count(), page_cursor()}, run_wallet_list),
      command<WalletQuery>(wallet_command({"accounts"}, "List the accounts of a wallet",
                                          "  coffer wallet accounts shop\n"),
                           {queried_wallet()}, run_wallet_accounts),
      command<WalletQuery>(
          wallet_command({"descriptors"}, "List the imported descriptors, and how far each is used",
                         "  coffer wallet descriptors shop\n"),
          {queried_wallet()}, run_wallet_descriptors),
      command<WalletQuery>(
          wallet_command({"addresses"}, "List the addresses and scripts that are watched",
                         "  coffer wallet addresses shop --count 20\n"),
          {queried_wallet(), page_count(), page_cursor()}, run_wallet_addresses),
      command<WalletQuery>(
          wallet_command({"balance"}, "Show what a wallet, an account or an address holds",
                         "  coffer wallet balance shop\n"
                         "  coffer wallet balance shop --account savings --json\n"),
          {queried_wallet(), of_account(), of_address()}, run_wallet_balance),
      coins_command(),
      history_command(),
      command<WalletQuery>(wallet_command({"leases"}, "List the leases that have not expired",
                                          "  coffer wallet leases shop\n"),
                           {queried_wallet(), page_count(), page_cursor()}, run_wallet_leases),
      command<WalletQuery>(
          wallet_command({"labels"}, "List the labels, also of what the wallet does not know",
                         "  coffer wallet labels shop\n"),
          {queried_wallet(), page_count(), page_cursor()}, run_wallet_labels),
      command<WalletQuery>(wallet_command({"pruned"}, "Show the sums of what pruning has removed",
                                          "  coffer wallet pruned shop\n"),
                           {queried_wallet()}, run_wallet_pruned),
  };
}

std::vector<cli::Command> wallet_show_commands() {
  struct CoinArguments {
    std::string wallet, output;
  };
  struct ShowArguments {
    std::string wallet, tx;
  };
  return {
      command<CoinArguments>(
          wallet_command({"coin"}, "Show one coin", "  coffer wallet coin shop TX#0\n"),
          {{"wallet", &CoinArguments::wallet, kWalletHelp},
           {"output", &CoinArguments::output, "TX#INDEX"}},
          [](const Context& c, const CoinArguments& a) {
            return run_wallet_coin(c, a.wallet, a.output);
          }),
      command<ShowArguments>(
          wallet_command({"show"}, "Show one transaction with its inputs and outputs",
                         "  coffer wallet show shop TXID\n"),
          {{"wallet", &ShowArguments::wallet, kWalletHelp},
           {"transaction", &ShowArguments::tx, "Its id"}},
          [](const Context& c, const ShowArguments& a) {
            return run_wallet_show(c, a.wallet, a.tx);
          }),
      command(wallet_command({"stats"}, "Show how many wallets, coins, transactions, … there are",
                             "  coffer wallet stats\n"),
              run_wallet_stats),
      command(wallet_command({"verify"}, "Check all wallets: recompute every rule that must hold",
                             "  coffer wallet verify\n"),
              run_wallet_verify),
  };
}

cli::Command bench_wallet() {
  using A = BenchWalletArguments;
  const cli::Range sizes = {1, 100'000'000};
  return command<A>({.path = {"bench", "wallet"},
                     .summary = "Measure balances, pages, leases, records and rollbacks of wallets",
                     .examples = "  coffer bench wallet --coins 100000\n",
                     .settings = {"log."}},
                    {{"--database",
                      &A::database,
                      "An empty PostgreSQL database (default: SQLite in a scratch directory)",
                      {.value = "LOCATION"}},
                     {"--coins",
                      &A::coins,
                      "Measure only one size: unspent coins, over all wallets",
                      {.range = sizes}},
                     {"--history",
                      &A::history,
                      "Spent coins for each unspent one",
                      {.show_default = true, .range = sizes}},
                     {"--wallets",
                      &A::wallets,
                      "Wallets that share the coins",
                      {.show_default = true, .range = sizes}}},
                    run_bench_wallet);
}

}  // namespace

cli::Command wallet_command(std::vector<std::string> path, const char* summary,
                            const char* examples, const std::vector<std::string>& more) {
  cli::Command base{.path = std::move(path), .summary = summary, .examples = examples};
  base.path.insert(base.path.begin(), "wallet");
  base.settings = {"data_dir", "chain", "network", "wallet.", "log."};
  base.settings.insert(base.settings.end(), more.begin(), more.end());
  return base;
}

Result<> print_result(const Context& context, const std::string& json, const std::string& text) {
  cli::print(context.json ? json + "\n" : text);
  return cli::finish_output();
}

std::vector<cli::Command> wallet_commands() {
  std::vector<cli::Command> all = {
      {.path = {"wallet"},
       .summary = "Keep track of your own coins: balances, history, leases (Bitcoin)",
       .examples = kWalletExamples,
       .notes = "All of them may run beside a daemon. Amounts that are typed are satoshi."}};
  // Neither descriptors nor labels: what they say is nobody's business.
  const std::vector<std::string> shown = {"wallet",    "name",     "output",   "transaction",
                                          "address",   "amount",   "kind",     "ref",
                                          "--for",     "--status", "--height", "--from",
                                          "--account", "--all",    "--force",  "--dry-run"};
  for (const auto& list : {node::audited(wallet_import_commands(), shown), wallet_list_commands(),
                           wallet_show_commands(), node::audited(wallet_change_commands(), shown)})
    all.insert(all.end(), list.begin(), list.end());
  all.push_back(node::bench_group());
  all.push_back(bench_wallet());
  return all;
}

}  // namespace coffer::wallet
