// The commands that look into wallets.
#include "api/input.h"
#include "base/result.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "wallet/commands/commands.h"
#include "wallet/commands/open_wallet.h"
#include "wallet/commands/view.h"
#include "wallet/json/input.h"
#include "wallet/json/output.h"

namespace coffer::wallet {
namespace {

// Opens the wallet, asks `ask` and prints what it found in the form that was asked for.
template <typename Ask, typename AsJson, typename AsText>
Result<> print_answer(const Context& context, const std::string& name, Ask ask, AsJson as_json,
                      AsText as_text) {
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(name));
  const auto found = TRY(cli::as_usage_error(ask(session, wallet)));
  if (context.json)
    cli::print_line(as_json(session, found));
  else
    cli::print(as_text(session, found));
  return cli::finish_output();
}

}  // namespace

Result<> run_wallet_list(const Context& context, const WalletQuery& query) {
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::PageOptions page = TRY(cli::as_usage_error(parse_wallet_page(query.query)));
  const auto found = TRY(cli::as_usage_error(session.store->list(page)));
  if (context.json)
    cli::print_line(wallets_json(found));
  else
    cli::print(render_wallets(found));
  return cli::finish_output();
}

Result<> run_wallet_accounts(const Context& context, const WalletQuery& query) {
  return print_answer(
      context, query.wallet,
      [](const OpenWallet& s, wallet::WalletId id) { return s.store->accounts(id); },
      [](const auto&, const auto& found) { return accounts_json(found); },
      [](const auto&, const auto& found) { return render_accounts(found); });
}

Result<> run_wallet_labels(const Context& context, const WalletQuery& query) {
  return print_answer(
      context, query.wallet,
      [&](const OpenWallet& s, wallet::WalletId id) -> Result<wallet::Page<wallet::LabelInfo>> {
        const wallet::PageOptions page = TRY(parse_wallet_page(query.query));
        return s.store->labels(id, page);
      },
      [](const auto&, const auto& found) { return labels_json(found); },
      [](const auto&, const auto& found) { return render_labels(found); });
}

Result<> run_wallet_pruned(const Context& context, const WalletQuery& query) {
  return print_answer(
      context, query.wallet,
      [](const OpenWallet& s, wallet::WalletId id) { return s.store->pruned(id); },
      [](const auto&, const auto& found) { return pruned_totals_json(found); },
      [](const auto&, const auto& found) { return render_pruned_totals(found); });
}

Result<> run_wallet_descriptors(const Context& context, const WalletQuery& query) {
  return print_answer(
      context, query.wallet,
      [](const OpenWallet& s, wallet::WalletId id) { return s.store->descriptors(id); },
      [](const auto&, const auto& found) { return descriptors_json(found); },
      [](const auto&, const auto& found) { return render_descriptors(found); });
}

Result<> run_wallet_addresses(const Context& context, const WalletQuery& query) {
  return print_answer(
      context, query.wallet,
      [&](const OpenWallet& s, wallet::WalletId id) -> Result<wallet::Page<wallet::AddressInfo>> {
        const wallet::PageOptions page = TRY(parse_wallet_page(query.query));
        return s.store->addresses(id, page);
      },
      [](const auto&, const auto& found) { return wallet_addresses_json(found); },
      [](const auto&, const auto& found) { return render_addresses(found); });
}

Result<> run_wallet_balance(const Context& context, const WalletQuery& query) {
  wallet::Scope scope;
  return print_answer(
      context, query.wallet,
      [&](const OpenWallet& s, wallet::WalletId id) -> Result<wallet::Balance> {
        scope = TRY(parse_scope(s.network, query.query));
        return s.store->balance(id, scope);
      },
      [&](const OpenWallet& s, const auto& found) {
        return wallet_balance_json(s.network, scope, found);
      },
      [](const auto&, const auto& found) { return render_wallet_balance(found); });
}

Result<> run_wallet_coins(const Context& context, const WalletQuery& query) {
  return print_answer(
      context, query.wallet,
      [&](const OpenWallet& s, wallet::WalletId id) -> Result<wallet::Page<wallet::Coin>> {
        const wallet::CoinQuery coins = TRY(parse_coin_query(s.network, query.query));
        return s.store->coins(id, coins);
      },
      [](const OpenWallet& s, const auto& found) { return coins_json(s.network, found); },
      [](const OpenWallet& s, const auto& found) { return render_coins(s.network, found); });
}

Result<> run_wallet_history(const Context& context, const WalletQuery& query) {
  return print_answer(
      context, query.wallet,
      [&](const OpenWallet& s, wallet::WalletId id) -> Result<wallet::Page<wallet::HistoryEntry>> {
        const wallet::HistoryQuery history = TRY(parse_history_query(query.query));
        return s.store->history(id, history);
      },
      [](const auto&, const auto& found) { return history_json(found); },
      [](const auto&, const auto& found) { return render_history(found); });
}

Result<> run_wallet_leases(const Context& context, const WalletQuery& query) {
  return print_answer(
      context, query.wallet,
      [&](const OpenWallet& s, wallet::WalletId id) -> Result<wallet::Page<wallet::LeasedCoin>> {
        const wallet::PageOptions page = TRY(parse_wallet_page(query.query));
        return s.store->leases(id, page);
      },
      [](const auto&, const auto& found) { return leases_json(found); },
      [](const auto&, const auto& found) { return render_leases(found); });
}

Result<> run_wallet_show(const Context& context, const std::string& wallet,
                         const std::string& text) {
  const Hash256 tx = TRY(cli::as_usage_error(parse_hash("transaction", text)));
  return print_answer(
      context, wallet,
      [&](const OpenWallet& s, wallet::WalletId id) { return s.store->transaction(id, tx); },
      [](const OpenWallet& s, const auto& found) { return wallet_tx_json(s.network, found); },
      [](const OpenWallet& s, const auto& found) { return render_wallet_tx(s.network, found); });
}

Result<> run_wallet_coin(const Context& context, const std::string& wallet,
                         const std::string& output) {
  return print_answer(
      context, wallet,
      [&](const OpenWallet& s, wallet::WalletId id) -> Result<wallet::Coin> {
        const chain::Outpoint wanted = TRY(api::parse_outpoint(s.network, output));
        return s.store->coin(id, wanted);
      },
      [](const OpenWallet& s, const auto& found) { return coin_json(s.network, found); },
      [](const OpenWallet& s, const auto& found) { return render_coin(s.network, found); });
}

Result<> run_wallet_stats(const Context& context) {
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::StoreStats stats = TRY(session.store->stats());
  if (context.json)
    cli::print_line(wallet_stats_json(stats));
  else
    cli::print(render_wallet_stats(stats));
  return cli::finish_output();
}

Result<> run_wallet_verify(const Context& context) {
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  cli::ProgressBar bar({.label = "verifying", .unit = "checks", .total = {}}, system_clock(),
                       cli::stderr_output());
  std::uint64_t checks = 0;
  const wallet::WalletVerified found =
      TRY(session.store->verify([&](std::string_view) { bar.update(++checks); }));
  bar.finish();
  if (context.json) {
    cli::print_line(wallet_verified_json(found));
    return cli::finish_output();
  }
  cli::Table table({{"records"}, {"checked", cli::Align::kRight}});
  const std::pair<const char*, std::uint64_t> rows[] = {{"wallets", found.wallets},
                                                        {"addresses", found.addresses},
                                                        {"transactions", found.transactions},
                                                        {"inputs", found.inputs},
                                                        {"coins", found.coins}};
  for (const auto& [name, count] : rows) table.add_row({name, cli::with_thousands(count)});
  cli::print(table.render() + "all of it fits together\n");
  return cli::finish_output();
}

}  // namespace coffer::wallet
