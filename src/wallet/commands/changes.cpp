// The commands that change what a wallet knows of its transactions and coins.
#include "api/input.h"
#include "base/file.h"
#include "base/result.h"
#include "cli/output.h"
#include "cli/table.h"
#include "wallet/commands/commands.h"
#include "wallet/commands/open_wallet.h"
#include "wallet/commands/view.h"
#include "wallet/json/body.h"
#include "wallet/json/input.h"
#include "wallet/json/output.h"

namespace coffer::wallet {
namespace {

constexpr std::uint64_t kMaxRawText = 16u << 20;  // a block's worth of hex

// HEX, @FILE or - for standard input. What a file holds is data; what was typed is usage.
Result<Bytes> read_raw(const std::string& given) {
  if (given != "-" && !given.starts_with("@")) return cli::as_usage_error(parse_raw_tx(given));
  const Bytes text = TRY(given == "-" ? read_standard_input(kMaxRawText)
                                      : read_file_or_pipe(given.substr(1), kMaxRawText));
  return parse_raw_tx(as_text(text));
}

Result<wallet::RecordOptions> record_options(const WalletRecord& record) {
  wallet::RecordOptions options;
  if (!record.status.empty()) options.status = TRY(wallet::parse_status(record.status));
  options.block = TRY(block_of({record.height, record.index, record.block, record.block_time_s}));
  options.bump = record.bump;
  if (record.lock_id) options.lock_id = TRY(parse_lock_id(*record.lock_id));
  options.force = record.force;
  return options;
}

Result<> print_recorded(const Context& context, const wallet::Recorded& done) {
  if (context.json)
    cli::print_line(recorded_json(done));
  else
    cli::print(render_recorded(done));
  return cli::finish_output();
}

using Change = Result<wallet::Recorded> (wallet::Store::*)(wallet::WalletId, const Hash256&);

Result<> change(const Context& context, const std::string& name, const std::string& text,
                Change what) {
  const Hash256 tx = TRY(cli::as_usage_error(parse_hash("transaction", text)));
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(name));
  const wallet::Recorded done = TRY((session.store.get()->*what)(wallet, tx));
  return print_recorded(context, done);
}

Result<std::vector<chain::Outpoint>> outpoints(const chain::Network& network,
                                               const std::vector<std::string>& texts) {
  std::vector<chain::Outpoint> coins;
  coins.reserve(texts.size());
  for (const std::string& text : texts)
    coins.push_back(TRY(cli::as_usage_error(api::parse_outpoint(network, text))));
  return coins;
}

}  // namespace

Result<> run_wallet_record(const Context& context, const WalletRecord& record) {
  const wallet::RecordOptions options = TRY(cli::as_usage_error(record_options(record)));
  const Bytes raw = TRY(read_raw(record.raw));
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(record.wallet));
  const wallet::Recorded done = TRY(session.store->record(wallet, raw, options));
  return print_recorded(context, done);
}

Result<> run_wallet_publish(const Context& context, const std::string& wallet,
                            const std::string& tx) {
  return change(context, wallet, tx, &wallet::Store::publish);
}

Result<> run_wallet_cancel(const Context& context, const std::string& wallet,
                           const std::string& tx) {
  return change(context, wallet, tx, &wallet::Store::cancel);
}

Result<> run_wallet_lease(const Context& context, const WalletLease& lease) {
  wallet::LeaseRequest request;
  request.lock_id = TRY(cli::as_usage_error(parse_lock_id(lease.lock_id)));
  request.duration_ms = TRY(cli::as_usage_error(parse_duration_ms(lease.duration)));
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(lease.wallet));
  request.coins = TRY(outpoints(session.network, lease.coins));
  const std::int64_t until = TRY(cli::as_usage_error(
      lease.renew ? session.store->renew(wallet, request) : session.store->lease(wallet, request)));
  if (context.json)
    cli::print_line(leased_json(request.coins.size(), request.lock_id, until));
  else
    cli::print(fmt::format("{} leased until {}\n", cli::counted(request.coins.size(), "coin"),
                           time_text(until)));
  return cli::finish_output();
}

Result<> run_wallet_select(const Context& context, const WalletSelect& select) {
  wallet::LeaseSelection wanted;
  wanted.amount = TRY(cli::as_usage_error(parse_payment(select.amount)));
  wanted.lock_id = TRY(cli::as_usage_error(parse_lock_id(select.lock_id)));
  wanted.duration_ms = TRY(cli::as_usage_error(parse_duration_ms(select.duration)));
  wanted.order = TRY(cli::as_usage_error(parse_order(select.order)));
  wanted.account = select.account;
  wanted.chain_pending = select.chain_pending;
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(select.wallet));
  const wallet::SelectedCoins selected = TRY(session.store->select_and_lease(wallet, wanted));
  if (context.json) {
    cli::print_line(selected_json(session.network, wanted.lock_id, selected));
  } else {
    cli::print(render_coins(session.network, {selected.coins, ""}));
    cli::print(fmt::format("{} BTC leased until {}\n", btc_text(selected.amount),
                           time_text(selected.expires_at_ms)));
  }
  return cli::finish_output();
}

Result<> run_wallet_release(const Context& context, const WalletLease& lease) {
  if (lease.all == !lease.coins.empty())
    return fail(Code::kUsage, "name the outputs to release, or give --all; not both");
  const wallet::LockId lock_id = TRY(cli::as_usage_error(parse_lock_id(lease.lock_id)));
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(lease.wallet));
  const auto coins = TRY(outpoints(session.network, lease.coins));
  std::uint64_t count = coins.size();
  if (lease.all)
    count = TRY(session.store->release_all(wallet, lock_id));
  else
    TRY(session.store->release(wallet, coins, lock_id));
  if (context.json)
    cli::print_line(released_json(count, lock_id));
  else
    cli::print(fmt::format("{} released\n", cli::counted(count, "coin")));
  return cli::finish_output();
}

Result<> run_wallet_clean_leases(const Context& context) {
  constexpr std::size_t kAtOnce = 10'000;
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  std::uint64_t gone = 0;
  for (std::uint64_t part = kAtOnce; part == kAtOnce; gone += part)
    part = TRY(session.store->clean_leases(kAtOnce));
  if (context.json)
    cli::print_line(cleaned_leases_json(gone, false));
  else
    cli::print(fmt::format("{} taken away\n", cli::counted(gone, "expired lease")));
  return cli::finish_output();
}

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

Result<> run_wallet_prune(const Context& context, const WalletPrune& prune) {
  wallet::PruneOptions options;
  options.dry_run = prune.dry_run;
  if (prune.invalid_older_than)
    options.invalid_older_than_ms =
        TRY(cli::as_usage_error(parse_duration_ms(*prune.invalid_older_than)));
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(prune.wallet));
  const wallet::Pruned sum = TRY(prune_all(*session.store, wallet, options));
  if (context.json)
    cli::print_line(pruned_json(sum, options.dry_run));
  else
    cli::print(render_pruned(sum, options.dry_run));
  return cli::finish_output();
}

Result<> run_wallet_label(const Context& context, const WalletLabel& label) {
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(label.wallet));
  const LabelTarget target =
      TRY(cli::as_usage_error(parse_label_target(session.network, label.kind, label.ref)));
  TRY(cli::as_usage_error(session.store->set_label(wallet, target.kind, target.ref, label.text)));
  if (context.json)
    cli::print_line(label_json(target.kind, target.ref, label.text));
  else
    cli::print(fmt::format(
        "{} {} is {}\n", target.kind, target.ref,
        label.text.empty() ? "without a label now" : "labelled " + cli::printable(label.text)));
  return cli::finish_output();
}

}  // namespace coffer::wallet
