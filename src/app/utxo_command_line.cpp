// The commands of the UTXO state on the command line.
#include "app/command_tree.h"
#include "app/utxo_commands.h"

namespace coffer::app {
namespace {

constexpr const char* kUtxoExamples =
    "Examples:\n"
    "  coffer utxo stats                              how many, how much, up to which block\n"
    "  coffer utxo get TX#0                           one output, also for a while after it was "
    "spent\n"
    "  coffer utxo address ADDR --count 10            outputs of an address, oldest first\n"
    "  coffer utxo balance ADDR --json                what an address holds, as HTTP would say it\n"
    "  coffer utxo digest                             to compare two stores in one line\n"
    "  coffer utxo proof TX#0 > proof.json            that it is unspent, for somebody else to "
    "check\n"
    "  coffer utxo check-proof proof.json --root HEX  with nothing but a root\n"
    "  coffer utxo snapshot /backup/monday            a copy that needs hardly any room at first\n"
    "  coffer utxo rollback 1000                      back to the state after block 1,000\n\n"
    "Reading commands may run beside a daemon.";

struct Arguments {
  std::string text;                    // the one positional argument that most commands have
  std::optional<std::uint64_t> block;  // or this one
  std::map<std::string, std::string> page;
};

CLI::App* add_utxo_command(CLI::App& utxo, Parsed& parsed, const char* name, const char* help,
                           std::function<Result<>(const Context&)> action) {
  CLI::App* command = utxo.add_subcommand(name, help);
  add_settings(*command, parsed, kStoreOnly);
  command->callback([&parsed, action = std::move(action)] { parsed.action = action; });
  return command;
}

void add_page_options(CLI::App& command, Arguments& arguments) {
  const auto option = [&](const char* name, const char* type, const char* help) {
    std::string key(name + 2);
    std::replace(key.begin(), key.end(), '-', '_');
    command.add_option(name, arguments.page[key], help)->type_name(type);
  };
  option("--page", "N", "which page, from 1 (default: 1)");
  option("--count", "N", "outputs on a page, up to 100 (default: 100)");
  option("--order", "asc|desc", "oldest or newest first (default: asc)");
  option("--cursor", "TEXT", "go on where an earlier page ended");
  option("--asset", "UNIT", "only with this asset: policy and name in hex, or the policy alone");
  option("--from-slot", "N", "made in this slot or later");
  option("--to-slot", "N", "made in this slot or earlier");
}

void add_page_command(CLI::App& utxo, Parsed& parsed, bool by_credential, Arguments& arguments) {
  const auto run = [&arguments, by_credential](const Context& c) {
    UtxoPageArguments page{by_credential, arguments.text, {}};
    for (const auto& [key, value] : arguments.page)
      if (!value.empty()) page.query.push_back({key, value});
    return run_utxo_page(c, page);
  };
  CLI::App* command =
      by_credential ? add_utxo_command(utxo, parsed, "credential",
                                       "List what a payment credential holds (Cardano)", run)
                    : add_utxo_command(utxo, parsed, "address", "List what an address holds", run);
  command
      ->add_option(by_credential ? "credential" : "address", arguments.text,
                   by_credential ? "56 hex digits, or addr_vkh1…, addr_shared_vkh1… or script1…"
                                 : "bech32, base58, or the raw bytes in hex")
      ->required();
  add_page_options(*command, arguments);
}

void add_reading_commands(CLI::App& utxo, Parsed& parsed, Arguments& arguments) {
  add_utxo_command(utxo, parsed, "get", "Show one output, unspent or lately spent",
                   [&](const Context& c) { return run_utxo_get(c, arguments.text); })
      ->add_option("output", arguments.text, "TX#INDEX")
      ->required();
  static Arguments by_address, by_credential;  // apart: their options are the same
  add_page_command(utxo, parsed, false, by_address);
  add_page_command(utxo, parsed, true, by_credential);
  add_utxo_command(utxo, parsed, "balance", "Add up what an address holds, with all assets",
                   [&](const Context& c) { return run_utxo_balance(c, arguments.text); })
      ->add_option("address", arguments.text, "bech32, base58, or the raw bytes in hex")
      ->required();
  add_utxo_command(utxo, parsed, "stats", "Show how much is unspent, and what can be undone",
                   run_utxo_stats);
  add_utxo_command(utxo, parsed, "dump", "Print every unspent output, a line each", run_utxo_dump);
  add_utxo_command(utxo, parsed, "digest",
                   "Print count, value and acc: equal sets have equal digests", run_utxo_digest);
  add_utxo_command(utxo, parsed, "root", "Print the root after a block (utxo.store = mmr)",
                   [&](const Context& c) { return run_utxo_root(c, arguments.block); })
      ->add_option("block", arguments.block, "its number (default: the newest)");
}

void add_proof_commands(CLI::App& utxo, Parsed& parsed) {
  static UtxoProofArguments prove;
  CLI::App* proof = add_utxo_command(utxo, parsed, "proof",
                                     "Print a proof that an output is unspent (utxo.store = mmr)",
                                     [](const Context& c) { return run_utxo_proof(c, prove); });
  proof->add_option("output", prove.outpoint, "TX#INDEX")->required();
  proof->add_option("--block", prove.block, "after the block of this number (default: the newest)")
      ->type_name("N");

  static CheckProofArguments check;
  CLI::App* checker = utxo.add_subcommand(
      "check-proof", "Check a proof off line, against a root that you trust; needs no data");
  checker->add_flag("--json", parsed.json, "machine-readable output");
  checker->add_option("file", check.file, "what 'coffer utxo proof' printed")->required();
  checker->add_option("--root", check.root, "the root, from somebody you trust")
      ->required()
      ->type_name("HEX");
  checker->add_option("--output", check.outpoint, "the output that it must be of")
      ->type_name("TX#INDEX");
  checker->callback(
      [&] { parsed.action = [](const Context& c) { return run_utxo_check_proof(c, check); }; });
}

void add_tools(CLI::App& utxo, Parsed& parsed, Arguments& arguments) {
  add_utxo_command(utxo, parsed, "verify",
                   "Check every record, index entry and delta against the others", run_utxo_verify);
  add_utxo_command(utxo, parsed, "rollback", "Undo blocks; the next start applies them again",
                   [&](const Context& c) { return run_utxo_rollback(c, *arguments.block); })
      ->add_option("block", arguments.block, "the number of the last block that stays")
      ->required();
  add_utxo_command(utxo, parsed, "rebuild", "Empty the UTXO state; the next start fills it again",
                   [](const Context& c) { return run_rebuild(c, "utxo"); });
  add_utxo_command(utxo, parsed, "snapshot", "Copy the whole database into a new directory",
                   [&](const Context& c) { return run_utxo_snapshot(c, arguments.text); })
      ->add_option("directory", arguments.text, "where to; must not exist")
      ->required();
  add_utxo_command(utxo, parsed, "restore", "Begin an empty --data directory with a snapshot",
                   [&](const Context& c) { return run_utxo_restore(c, arguments.text); })
      ->add_option("directory", arguments.text, "what 'coffer utxo snapshot' made")
      ->required();
}

}  // namespace

void add_utxo_commands(CLI::App& app, Parsed& parsed) {
  static Arguments arguments;
  CLI::App* utxo =
      app.add_subcommand("utxo",
                         "What is unspent: by output, address and credential; checks, copies")
          ->require_subcommand(1)
          ->footer(kUtxoExamples);
  add_reading_commands(*utxo, parsed, arguments);
  add_proof_commands(*utxo, parsed);
  add_tools(*utxo, parsed, arguments);
}

}  // namespace coffer::app
