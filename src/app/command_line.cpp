// The command tree. Settings become flags from the table of keys; nothing is declared twice.
#include <cstdio>

#include "app/command_tree.h"
#include "app/version.h"
#include "base/log.h"
#include "cli/table.h"
#include "config/keys.h"

namespace coffer::app {

void add_settings(CLI::App& command, Parsed& parsed,
                  const std::vector<std::string_view>& prefixes) {
  command
      .add_option("--config", parsed.config_file,
                  "read settings from this file (default: DATA/coffer.toml if there)")
      ->type_name("FILE");
  command.add_flag("--json", parsed.json, "machine-readable output");
  for (const config::Key& key : config::config_keys()) {
    const bool wanted = std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
      return key.name.starts_with(prefix);
    });
    if (!wanted) continue;
    std::string names = config::flag_name(key.name);
    if (!key.short_flag.empty()) names += "," + std::string(key.short_flag);
    std::string help(key.help);
    if (const std::string fallback = config::default_text(key); !fallback.empty())
      help += " (default: " + fallback + ")";
    CLI::Option* option = command.add_option(names, parsed.values[std::string(key.name)], help);
    option->type_name(config::is_switch(key) ? "" : "VALUE")->group("Settings");
    if (config::is_switch(key)) option->expected(0, 1)->default_str("true");
  }
}

namespace {

constexpr const char* kOverview =
    "Coffer keeps the state of a ledger: it follows a chain of blocks and answers from what it "
    "stored.\n\n"
    "Examples:\n"
    "  coffer demo                                    a simulated chain, and a page that shows it\n"
    "  coffer sync --to 1000 --data /tmp/c            import 1,000 simulated blocks and stop\n"
    "  coffer status --data /tmp/c                    what is there, how far, is all well\n"
    "  coffer utxo balance ADDR --data /tmp/c         what an address holds\n"
    "  coffer wallet create shop --data /tmp/c        a wallet of your own keys and addresses\n"
    "  coffer db backup /backup/monday.db             a copy of the SQL database, also while it is "
    "used\n"
    "  coffer devnet write chain.dat --blocks 300     a simulated chain as a block file\n"
    "  coffer decode --chain cardano block.hex        a block as JSON\n"
    "  coffer bench decode                            how fast blocks are decoded\n"
    "  coffer bench utxo                              how fast the UTXO state is built and read\n"
    "  coffer bench wallet                            what a wallet of a given size costs\n\n"
    "Exit codes: 0 success, 1 refused, 2 wrong usage, 3 something needed is not available.";

// The values of the flags that were really given, in CLI11's words for each command.
std::vector<config::FlagValue> given_flags(const CLI::App& command) {
  std::vector<config::FlagValue> flags;
  for (const config::Key& key : config::config_keys()) {
    const CLI::Option* option = command.get_option_no_throw(config::flag_name(key.name));
    if (option == nullptr || option->count() == 0) continue;
    const std::vector<std::string> results = option->results();
    std::string text;
    for (const std::string& part : results) text += (text.empty() ? "" : ",") + part;
    if (text.empty() && config::is_switch(key)) text = "true";
    flags.push_back({std::string(key.name), text});
  }
  return flags;
}

const std::vector<std::string_view> kEverything = {""};
const std::vector<std::string_view> kDevnetOnly = {"chain", "devnet.", "log."};

void add_store_commands(CLI::App& app, Parsed& parsed) {
  CLI::App* demo = app.add_subcommand(
      "demo", "Run with a simulated chain and show its page: nothing else is needed");
  add_settings(*demo, parsed, kEverything);
  demo->footer("Examples:\n  coffer demo\n  coffer demo --data /tmp/c --listen 127.0.0.1:0\n");
  demo->callback([&] { parsed.action = [](const Context& c) { return run_serve(c, true); }; });

  CLI::App* serve =
      app.add_subcommand("serve", "Follow a source and serve HTTP until stopped (Ctrl-C)");
  add_settings(*serve, parsed, kEverything);
  serve->footer(
      "Examples:\n"
      "  coffer serve --network mainnet --source rpc:http://127.0.0.1:8332\n"
      "  coffer serve --network mainnet --source blkdir:/srv/bitcoin/blocks --data /srv/c\n");
  serve->callback([&] { parsed.action = [](const Context& c) { return run_serve(c, false); }; });

  CLI::App* sync =
      app.add_subcommand("sync", "Import blocks from a source, with a progress bar, and stop");
  add_settings(*sync, parsed, kEverything);
  sync->footer("Examples:\n  coffer sync --to 1000 --data /tmp/c\n");
  static std::optional<std::uint64_t> to;
  sync->add_option("--to", to,
                   "stop after the block of this height (default: the end of the source)")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 63))
      ->type_name("N");
  sync->callback([&] { parsed.action = [](const Context& c) { return run_sync(c, to); }; });

  CLI::App* status =
      app.add_subcommand("status", "Show what runs, where the data is and how far behind it is");
  add_settings(*status, parsed, kStoreOnly);
  status->footer("Examples:\n  coffer status\n  coffer status --data /tmp/c --json\n");
  status->callback([&] { parsed.action = run_status; });

  CLI::App* rebuild =
      app.add_subcommand("rebuild", "Empty one consumer's store; the next start fills it again");
  add_settings(*rebuild, parsed, kStoreOnly);
  rebuild->footer("Examples:\n  coffer rebuild totals --data /tmp/c\n");
  static std::string consumer;
  rebuild->add_option("consumer", consumer, "totals, events or utxo")->required();
  rebuild->callback(
      [&] { parsed.action = [](const Context& c) { return run_rebuild(c, consumer); }; });
}

void add_bench_wallet(CLI::App& bench, Parsed& parsed) {
  static BenchWalletArguments arguments;
  CLI::App* command = bench.add_subcommand("wallet", "Balances, pages, leases, records, rollbacks");
  add_settings(*command, parsed, {"log."});
  command
      ->add_option("--database", arguments.database,
                   "an empty PostgreSQL database (default: SQLite in a scratch directory)")
      ->type_name("LOCATION");
  const auto whole = CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000});
  command->add_option("--coins", arguments.coins, "only one size: unspent coins, over all wallets")
      ->check(whole)
      ->type_name("N");
  command->add_option("--history", arguments.history, "spent coins for each of them")
      ->check(whole)
      ->type_name("N");
  command->add_option("--wallets", arguments.wallets, "wallets that share them")
      ->check(whole)
      ->type_name("N");
  command->callback(
      [&] { parsed.action = [](const Context& c) { return run_bench_wallet(c, arguments); }; });
}

void add_tool_commands(CLI::App& app, Parsed& parsed) {
  CLI::App* devnet =
      app.add_subcommand("devnet", "Tools for simulated chains")->require_subcommand(1);
  CLI::App* write =
      devnet->add_subcommand("write", "Write a simulated chain as a file of real blocks");
  add_settings(*write, parsed, kDevnetOnly);
  static DevnetWriteArguments out;
  write->add_option("file", out.out, "where to write; replaced if there")->required();
  write->add_option("--blocks", out.blocks, "height of the last block")->capture_default_str();
  write->add_option("--format", out.format, "blk (magic, size, block), hex (a block a line) or raw")
      ->check(CLI::IsMember({"blk", "hex", "raw"}))
      ->capture_default_str();
  write->add_flag("--with-stale", out.with_stale,
                  "blocks of abandoned branches too, in the order they came");
  write->callback(
      [&] { parsed.action = [](const Context& c) { return run_devnet_write(c, out); }; });

  CLI::App* decode_block = app.add_subcommand("decode", "Print a block of either chain as JSON");
  add_settings(*decode_block, parsed, {"chain", "network", "log."});
  static DecodeArguments block;
  decode_block->add_option("file", block.file, "raw, hex or blk-style blocks")->required();
  decode_block->add_option("--entry", block.entry, "which block of the file, from 0")
      ->capture_default_str();
  decode_block->callback(
      [&] { parsed.action = [](const Context& c) { return run_decode(c, block); }; });

  CLI::App* bench = app.add_subcommand("bench", "Measure this machine")->require_subcommand(1);
  CLI::App* decode = bench->add_subcommand("decode", "Decoding blocks, with and without hashing");
  add_settings(*decode, parsed, kDevnetOnly);
  static BenchArguments arguments;
  decode->add_option(
      "--file", arguments.file,
      "blocks to decode: blk-style, hex lines or one raw block (default: simulated)");
  decode->add_option("--seconds", arguments.seconds, "time for each measurement")
      ->capture_default_str()
      ->check(CLI::Range(1, 60));
  decode->callback(
      [&] { parsed.action = [](const Context& c) { return run_bench_decode(c, arguments); }; });

  CLI::App* bench_utxo =
      bench->add_subcommand("utxo", "Building, following and reading the UTXO state");
  add_settings(*bench_utxo, parsed, {"chain", "network", "devnet.", "log."});
  static BenchUtxoArguments utxo_arguments;
  bench_utxo->add_option("--file", utxo_arguments.file,
                         "a chain of blocks, from its first (default: simulated)");
  bench_utxo
      ->add_option("--window", utxo_arguments.window, "blocks that can be undone, and are kept")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  bench_utxo->add_flag("--only-sync", utxo_arguments.only_sync,
                       "only the first sync and its ratio to raw writes");
  bench_utxo->callback(
      [&] { parsed.action = [](const Context& c) { return run_bench_utxo(c, utxo_arguments); }; });
  add_bench_wallet(*bench, parsed);

  CLI::App* settings =
      app.add_subcommand("settings", "List every setting: key, default, variable and flag");
  settings->callback([&] {
    parsed.action = [](const Context&) -> Result<> {
      std::fputs(config::config_help().c_str(), stdout);
      return {};
    };
  });

  CLI::App* version = app.add_subcommand("version", "Show the version");
  version->add_flag("--json", parsed.json, "machine-readable output");
  version->callback([&] { parsed.action = run_version; });
}

const CLI::App* innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

int report(const Error& error) {
  // One line that can be read, whatever was typed or read into it: where, and what to do.
  constexpr std::size_t kStart = 1'000, kEnd = 500;
  std::string message = error.message;
  if (message.size() > kStart + kEnd)
    message = message.substr(0, kStart) + " … " + message.substr(message.size() - kEnd);
  std::fprintf(stderr, "coffer: %s\n", cli::printable(message).c_str());
  return info(error.code).exit_code;
}

Result<> configure_log(const config::Config& config) {
  log::configure({TRY(log::parse_level(config.log.level)),
                  config.log.format == "json" ? log::Format::kJson : log::Format::kText});
  return {};
}

Result<> run_parsed(const CLI::App& app, const Parsed& parsed, const char* program) {
  Context context;
  context.program = program;
  context.json = parsed.json;
  context.config = TRY(config::load_config(
      {parsed.config_file, config::process_environment(), given_flags(*innermost(app))}));
  TRY(configure_log(context.config));
  return parsed.action(context);
}

}  // namespace

int run_main(int argc, char** argv) {
  declare_settings();
  CLI::App app(kOverview, "coffer");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("coffer ") + std::string(kVersion));
  Parsed parsed;
  add_store_commands(app, parsed);
  add_utxo_commands(app, parsed);
  add_wallet_commands(app, parsed);
  add_db_commands(app, parsed);
  add_tool_commands(app, parsed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    const CLI::App* at = innermost(app);
    std::string path = "coffer";
    for (const CLI::App* step = &app; step != at;) {
      step = step->get_subcommands().front();
      path += " " + step->get_name();
    }
    std::string message = error.what();
    if (const auto extra = app.remaining(true); at->get_subcommands().empty() &&
                                                at->get_name() != "" && !extra.empty() &&
                                                extra.front().front() != '-')
      message = fmt::format("no command '{}'", extra.front());
    std::replace(message.begin(), message.end(), '\n', ' ');
    return report(make_error(Code::kUsage, fmt::format("{}; see '{} --help'", message, path)));
  }
  Result<> done = run_parsed(app, parsed, argv[0]);
  return done ? 0 : report(done.error());
}

}  // namespace coffer::app
