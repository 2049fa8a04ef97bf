// The commands that run or look at a whole node, as data.
#include "node/commands.h"
#include "node/database.h"

namespace coffer::node {

std::vector<cli::Command> node_commands() {
  const std::vector<std::string> all_settings = {""};
  struct StatusArguments {
    bool check = false;
    std::string consumer;
  };
  struct SyncArguments {
    std::optional<std::uint64_t> to;
  };
  struct RebuildArguments {
    std::string consumer;
  };
  return {
      command({.path = {"demo"},
               .summary = "Run with a simulated chain and serve its status page",
               .examples = "  coffer demo\n"
                           "  coffer demo --data /tmp/c --listen 127.0.0.1:0\n",
               .settings = all_settings},
              [](const Context& c) { return run_serve(c, true); }),
      command({.path = {"serve"},
               .summary = "Follow a source and serve HTTP until stopped with Ctrl-C",
               .examples = "  coffer serve --network mainnet \\\n"
                           "    --source 'rpc:http://127.0.0.1:8332?cookie=/srv/bitcoin/.cookie'\n"
                           "  coffer serve --network mainnet --source blkdir:/srv/bitcoin/blocks "
                           "--data /srv/c\n",
               .settings = all_settings},
              [](const Context& c) { return run_serve(c, false); }),
      command<SyncArguments>(
          {.path = {"sync"},
           .summary = "Import blocks from a source and stop",
           .examples = "  coffer sync --to 1000 --data /tmp/c\n",
           .settings = all_settings},
          {{"--to",
            &SyncArguments::to,
            "Stop after the block of this height (default: the end of the source)",
            {.value = "HEIGHT", .range = {0, std::uint64_t{1} << 63}}}},
          [](const Context& c, const SyncArguments& a) { return run_sync(c, a.to); }),
      command<StatusArguments>(
          {.path = {"status"},
           .summary = "Show the tip, the consumers, and how far behind the source they are",
           .examples = "  coffer status\n"
                       "  coffer status --data /tmp/c --json\n"
                       "  coffer status --check || echo 'not ready'\n"
                       "  coffer status --check --consumer wallet\n",
           .notes = "Exit code with --check: 0 ready, 1 not ready, 3 not reachable.",
           .settings = kStoreSettings},
          {{"--check", &StatusArguments::check,
            "Exit with 0 only if the running coffer is ready; otherwise print why not"},
           {"--consumer",
            &StatusArguments::consumer,
            "With --check: whether this consumer is ready, e.g. wallet, whatever the others are",
            {.value = "NAME"}}},
          [](const Context& c, const StatusArguments& a) -> Result<> {
            if (a.check) return run_status_check(c, a.consumer);
            if (!a.consumer.empty()) return fail(Code::kUsage, "--consumer is for --check; add it");
            return run_status(c);
          }),
      command<RebuildArguments>(
          {.path = {"rebuild"},
           .summary = "Delete the data of one consumer; the next start builds it again",
           .examples = "  coffer rebuild totals --data /tmp/c\n",
           .settings = kStoreSettings},
          {{"consumer", &RebuildArguments::consumer, rebuildable_consumers()}},
          [](const Context& c, const RebuildArguments& a) { return run_rebuild(c, a.consumer); }),
      command({.path = {"settings"},
               .summary = "Show every setting with its value, origin, variable and flag",
               .examples = "  coffer settings\n  coffer settings --config coffer.toml --json\n",
               .settings = all_settings},
              run_settings),
      {.path = {"version"}, .summary = "Show the version", .run = run_version},
  };
}

}  // namespace coffer::node
