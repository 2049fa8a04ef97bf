// The program: the list of all commands, and the settings that they run with.
#include <algorithm>

#include <coffer/version.h>
#include "base/log_stderr.h"
#include "base/result.h"
#include "cli/command_tree.h"
#include "config/keys.h"
#include "node/commands.h"
#include "node/db_commands.h"
#include "node/module.h"

namespace coffer::node {
namespace {

constexpr const char* kOverview =
    "Coffer is a ledger-state engine: it follows a blockchain, keeps its state, and answers "
    "queries from it.\n\n"
    "Examples:\n"
    "  coffer demo                                    run with a simulated chain and serve its "
    "page\n"
    "  coffer sync --to 1000 --data /tmp/c            import 1,000 simulated blocks and stop\n"
    "  coffer status --data /tmp/c                    show tip, consumers and problems\n"
    "  coffer utxo balance ADDR --data /tmp/c         show the balance of an address\n"
    "  coffer tx explain TX --data /tmp/c             tell why a transaction is still stored\n"
    "  coffer wallet create shop --data /tmp/c        create a wallet\n"
    "  coffer db backup /backup/monday.db             copy the SQL database, also while it is in "
    "use\n"
    "  coffer devnet write chain.dat --blocks 300     write a simulated chain as a block file\n"
    "  coffer decode --chain cardano block.hex        print a block as JSON\n"
    "  coffer bench decode                            measure how fast blocks are decoded\n"
    "  coffer bench utxo                              measure the UTXO state\n"
    "  coffer bench wallet                            measure wallets of several sizes\n"
    "  coffer help wallet lease                       show how a command is used\n\n"
    "Exit codes: 0 success, 1 refused, 2 wrong usage, 3 something needed is unavailable.";

std::vector<cli::Setting> all_settings() {
  std::vector<cli::Setting> settings;
  for (const config::Key& key : config::config_keys()) {
    cli::Setting setting{
        std::string(key.name), {config::flag_name(key.name)}, std::string(key.help)};
    if (!key.short_flag.empty()) setting.flags.emplace_back(key.short_flag);
    setting.fallback = config::default_text(key);
    setting.is_switch = config::is_switch(key);
    setting.is_global = key.name == "data_dir";
    settings.push_back(std::move(setting));
  }
  return settings;
}

}  // namespace

Result<Context> make_context(const cli::Invocation& given) {
  config::ConfigSources sources{given.config_file, config::process_environment(), {}};
  for (const cli::SettingValue& setting : given.settings)
    sources.flags.push_back({setting.key, setting.text});
  Context context{TRY(config::load_config(sources)), given.json, given.program};
  log::write_to_stderr(
      TRY(log::parse_level(context.config.log.level)),
      context.config.log.format == "json" ? log::Format::kJson : log::Format::kText);
  return context;
}

cli::Command command(cli::Command base, std::function<Result<>(const Context&)> run) {
  base.run = [run = std::move(run)](const cli::Invocation& given) -> Result<> {
    return run(TRY(make_context(given)));
  };
  return base;
}

int run_main(int argc, char** argv) {
  cli::Program program{.name = "coffer",
                       .overview = kOverview,
                       .version = fmt::format("coffer {}", kVersion),
                       .settings = all_settings(),
                       .commands = {}};
  std::vector<std::vector<cli::Command>> lists = {node_commands()};
  for (const Module* module : modules())
    if (module->commands != nullptr) lists.push_back(module->commands());
  lists.push_back(db_commands());
  lists.push_back(tool_commands());
  // Benchmarks are last in the help, whoever brings them.
  for (const bool is_bench : {false, true})
    for (const auto& list : lists)
      for (const cli::Command& one : list)
        // A group may be opened by several: `coffer bench`.
        if ((one.path.front() == "bench") == is_bench &&
            (!one.is_group() || cli::find_command(program, one.path) == nullptr))
          program.commands.push_back(one);
  return cli::run_program(std::move(program), argc, argv);
}

}  // namespace coffer::node
