// The commands that make wallets, and say what belongs to them.
#include <coffer/chain/address.h>
#include "base/file.h"
#include "base/result.h"
#include "cli/output.h"
#include "cli/table.h"
#include "wallet/commands/commands.h"
#include "wallet/commands/open_wallet.h"
#include "wallet/descriptor/scripts.h"
#include "wallet/import/core_export.h"
#include "wallet/json/input.h"
#include "wallet/json/output.h"

namespace coffer::wallet {
namespace {

Result<> print_imported(const Context& context, const wallet::Imported& done) {
  if (context.json)
    cli::print_line(imported_json(done));
  else if (done.descriptors == 0 && done.addresses == 0)
    cli::print("nothing new: all of it was known\n");
  else
    cli::print(
        fmt::format("{}, {}; coins of blocks that are passed already are found by a rescan\n",
                    cli::counted(done.descriptors, "new descriptor"),
                    cli::counted(done.addresses, "new address", "new addresses")));
  return cli::finish_output();
}

using ParseScript = Result<Bytes> (*)(const chain::Network&, const std::string&);

// All of them are understood and may be watched before the first is imported.
Result<> import_each(const Context& context, const WalletImport& import, ParseScript parse) {
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(import.wallet));
  std::vector<Bytes> scripts;
  for (const std::string& item : import.items) {
    scripts.push_back(TRY(cli::as_usage_error(parse(session.network, item))));
    TRY_IN(item, cli::as_usage_error(wallet::check_watchable(scripts.back())));
  }
  wallet::Imported sum;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    const wallet::Imported done = TRY_IN(
        import.items[i],
        cli::as_usage_error(session.store->import_script(wallet, scripts[i], import.options)));
    sum.descriptors += done.descriptors;
    sum.addresses += done.addresses;
  }
  return print_imported(context, sum);
}

}  // namespace

Result<> run_wallet_create(const Context& context, const wallet::Store::NewWallet& wanted) {
  const OpenWallet session = TRY(OpenWallet::open(context.config, true));
  const wallet::WalletInfo made = TRY(cli::as_usage_error(session.store->create(wanted)));
  if (context.json)
    cli::print_line(wallet_json(made));
  else
    cli::print(fmt::format("wallet {} on {} {}; say what is yours with 'coffer wallet import'\n",
                           cli::printable(made.name), session.network.chain_name(),
                           session.network.name));
  return cli::finish_output();
}

Result<> run_wallet_import_descriptor(const Context& context, const WalletImport& import) {
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(import.wallet));
  const wallet::Imported done = TRY(cli::as_usage_error(
      session.store->import_descriptor(wallet, import.items.front(), import.options)));
  return print_imported(context, done);
}

Result<> run_wallet_import_addresses(const Context& context, const WalletImport& import) {
  return import_each(
      context, import, [](const chain::Network& network, const std::string& text) -> Result<Bytes> {
        return TRY_IN(fmt::format("address '{}'", text), chain::parse_address(network, text));
      });
}

Result<> run_wallet_import_scripts(const Context& context, const WalletImport& import) {
  return import_each(context, import, [](const chain::Network&, const std::string& text) {
    return parse_script(text);
  });
}

Result<> run_wallet_import_core(const Context& context, const WalletImport& import) {
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(import.wallet));
  const bool from_stdin = import.items.front() == "-";
  const std::string file = from_stdin ? "standard input" : import.items.front();
  const Bytes text = TRY(from_stdin ? read_standard_input(wallet::kMaxCoreExportBytes)
                                    : read_file_or_pipe(file, wallet::kMaxCoreExportBytes));
  const wallet::CoreExport core =
      TRY_IN(file, wallet::parse_core_export(session.network, as_text(text)));
  const wallet::Imported done = TRY(session.store->import_core(wallet, core));
  return print_imported(context, done);
}

Result<> run_wallet_address(const Context& context, const WalletNewAddress& wanted) {
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(wanted.wallet));
  const wallet::AddressInfo made =
      TRY(cli::as_usage_error(session.store->new_address(wallet, wanted.account, wanted.change)));
  if (context.json)
    cli::print_line(wallet_address_json(made));
  else
    cli::print_line(made.text.empty() ? to_hex(made.script) : made.text);
  return cli::finish_output();
}

}  // namespace coffer::wallet
