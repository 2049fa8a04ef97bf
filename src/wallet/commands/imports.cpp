// The commands that make wallets, and say what belongs to them.
#include <coffer/chain/address.h>
#include "base/file.h"
#include "base/result.h"
#include "cli/interrupt.h"
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

using New = wallet::Store::NewWallet;

Result<> print_imported(const Context& context, const wallet::Imported& done) {
  const std::string text =
      done.descriptors == 0 && done.addresses == 0
          ? "nothing new: all of it was known\n"
          : fmt::format("{}, {}; coins of blocks that are passed already are found by a rescan\n",
                        cli::counted(done.descriptors, "new descriptor"),
                        cli::counted(done.addresses, "new address", "new addresses"));
  return print_result(context, imported_json(done), text);
}

Result<> run_wallet_create(const Context& context, const cli::Invocation&, const New& wanted) {
  const OpenWallet session = TRY(OpenWallet::open(context.config, true));
  const wallet::WalletInfo made = TRY(cli::as_usage_error(session.store->create(wanted)));
  return print_result(
      context, wallet_json(made),
      fmt::format("wallet {} on {} {}; say what is yours with 'coffer wallet import'\n",
                  cli::printable(made.name), session.network.chain_name(), session.network.name));
}

Result<> run_wallet_import_descriptor(const WalletCommand& on, const ImportDescriptor& import) {
  const cli::CatchInterrupts stoppable;
  const wallet::Imported done =
      TRY(cli::as_usage_error(on.store.import_descriptor(on.wallet, import.descriptor, import)));
  return print_imported(on.context, done);
}

// All of them are understood and may be watched before the first is imported.
Result<> run_wallet_import_scripts(const WalletCommand& on, const ImportScripts& import) {
  const auto scripts = TRY(cli::as_usage_error(parse_scripts(on.network, import)));
  const cli::Words& typed = import.addresses.empty() ? import.scripts : import.addresses;
  for (std::size_t i = 0; i < scripts.size(); ++i)
    TRY_IN(typed[i], cli::as_usage_error(wallet::check_watchable(scripts[i])));
  wallet::Imported sum;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    const wallet::Imported done = TRY_IN(
        typed[i], cli::as_usage_error(on.store.import_script(on.wallet, scripts[i], import)));
    sum.descriptors += done.descriptors;
    sum.addresses += done.addresses;
  }
  return print_imported(on.context, sum);
}

struct CoreArguments {
  std::string wallet, file;
};

Result<> run_wallet_import_core(const Context& context, const CoreArguments& given) {
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(given.wallet));
  const bool from_stdin = given.file == "-";
  const std::string file = from_stdin ? "standard input" : given.file;
  const Bytes text = TRY(from_stdin ? read_standard_input(wallet::kMaxCoreExportBytes)
                                    : read_file_or_pipe(file, wallet::kMaxCoreExportBytes));
  const wallet::CoreExport core =
      TRY_IN(file, wallet::parse_core_export(session.network, as_text(text)));
  const cli::CatchInterrupts stoppable;
  const wallet::Imported done = TRY(session.store->import_core(wallet, core));
  return print_imported(context, done);
}

Result<> run_wallet_address(const WalletCommand& on, const NewAddress& wanted) {
  const wallet::AddressInfo made =
      TRY(cli::as_usage_error(on.store.new_address(on.wallet, wanted.account, wanted.internal)));
  return print_result(on.context, wallet_address_json(made),
                      (made.text.empty() ? to_hex(made.script) : made.text) + "\n");
}

}  // namespace

std::vector<cli::Command> wallet_import_commands() {
  return {
      node::verb_command<New>(wallet_command({"create"}, "Create a wallet",
                                             "  coffer wallet create shop\n"
                                             "  coffer wallet create old --birthday 700000\n"),
                              verbs().create, run_wallet_create),
      wallet_verb(
          wallet_command({"address"}, "Give out a new address",
                         "  coffer wallet address shop\n  coffer wallet address shop --change\n"),
          verbs().new_address, run_wallet_address),
      {.path = {"wallet", "import"},
       .summary = "Say what is yours: descriptors, addresses, scripts",
       .examples = "  coffer wallet import descriptor shop 'wpkh(xpub…/<0;1>/*)'\n"
                   "  coffer wallet import address shop bc1q…\n"
                   "  coffer wallet import core shop listdescriptors.json\n"},
      wallet_verb(
          wallet_command({"import", "descriptor"}, "Watch the scripts of an output descriptor",
                         "  coffer wallet import descriptor shop 'tr(xpub…/0/*)#checksum'\n"
                         "  coffer wallet import descriptor shop 'wpkh(xpub…/<0;1>/*)' --account "
                         "b\n"),
          verbs().import_descriptor, run_wallet_import_descriptor),
      wallet_verb(wallet_command({"import", "address"}, "Watch single addresses",
                                 "  coffer wallet import address shop bc1q… bc1p…\n"),
                  node::without(verbs().import_scripts, "script"), run_wallet_import_scripts),
      wallet_verb(wallet_command({"import", "script"}, "Watch single scripts",
                                 "  coffer wallet import script shop 0014…\n"),
                  node::without(verbs().import_scripts, "address"), run_wallet_import_scripts),
      node::command<CoreArguments>(
          wallet_command({"import", "core"}, "Import the descriptors of a Bitcoin Core wallet",
                         "  bitcoin-cli listdescriptors | coffer wallet import core shop -\n"
                         "  coffer wallet import core shop listdescriptors.json\n"),
          {{"wallet", &CoreArguments::wallet, kWalletHelp},
           {"file", &CoreArguments::file,
            "What 'bitcoin-cli listdescriptors' printed; - for standard input"}},
          run_wallet_import_core),
  };
}

}  // namespace coffer::wallet
