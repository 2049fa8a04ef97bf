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
    "  coffer bench wallet                            what a wallet of a given size costs\n"
    "  coffer help wallet lease                       how a command is used\n\n"
    "Exit codes: 0 success, 1 refused, 2 wrong usage, 3 something needed is not available.";

std::vector<cli::Setting> all_settings() {
  std::vector<cli::Setting> settings;
  for (const config::Key& key : config::config_keys()) {
    cli::Setting setting{
        std::string(key.name), {config::flag_name(key.name)}, std::string(key.help)};
    if (!key.short_flag.empty()) setting.flags.emplace_back(key.short_flag);
    setting.fallback = config::default_text(key);
    setting.is_switch = config::is_switch(key);
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
  for (const auto& list : lists)
    for (const cli::Command& one : list)
      // A group may be opened by several: `coffer bench`.
      if (!one.is_group() || cli::find_command(program, one.path) == nullptr)
        program.commands.push_back(one);
  // Last in the help, whoever brings them.
  std::ranges::stable_partition(program.commands,
                                [](const cli::Command& c) { return c.path.front() != "bench"; });
  return cli::run_program(std::move(program), argc, argv);
}

}  // namespace coffer::node
