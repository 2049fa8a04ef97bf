// The commands that need no data directory, as data: simulated chains, decoding, benchmarks.
#include "app/command_table.h"

namespace coffer::app {
namespace {

cli::Command devnet_write() {
  using A = DevnetWriteArguments;
  return command<A>({.path = {"devnet", "write"},
                     .summary = "Write a simulated chain as a file of real blocks",
                     .examples = "  coffer devnet write chain.dat --blocks 300\n",
                     .settings = {"chain", "devnet.", "log."}},
                    {{"file", &A::out, "Where to write; replaced if there"},
                     {"--blocks", &A::blocks, "Height of the last block", {.show_default = true}},
                     {"--format",
                      &A::format,
                      "blk (magic, size, block), hex (a block a line) or raw",
                      {.show_default = true, .choices = {"blk", "hex", "raw"}}},
                     {"--with-stale", &A::with_stale,
                      "Write blocks of abandoned branches too, in the order they came"}},
                    run_devnet_write);
}

cli::Command decode() {
  using A = DecodeArguments;
  return command<A>(
      {.path = {"decode"},
       .summary = "Print a block of either chain as JSON",
       .examples = "  coffer decode --chain cardano block.hex\n",
       .settings = {"chain", "network", "log."}},
      {{"file", &A::file, "Raw, hex or blk-style blocks"},
       {"--entry", &A::entry, "Which block of the file, from 0", {.show_default = true}}},
      run_decode);
}

cli::Command bench_decode() {
  using A = BenchArguments;
  return command<A>(
      {.path = {"bench", "decode"},
       .summary = "Measure decoding of blocks, with and without hashing",
       .examples = "  coffer bench decode --seconds 5\n",
       .settings = {"chain", "devnet.", "log."}},
      {{"--file",
        &A::file,
        "Blocks to decode: blk-style, hex lines or one raw block (default: simulated)",
        {.value = "FILE"}},
       {"--seconds",
        &A::seconds,
        "Time for each measurement",
        {.show_default = true, .range = {1, 60}}}},
      run_bench_decode);
}

cli::Command bench_utxo() {
  using A = BenchUtxoArguments;
  return command<A>(
      {.path = {"bench", "utxo"},
       .summary = "Measure building, following and reading the UTXO state",
       .examples = "  coffer bench utxo --only-sync\n",
       .settings = {"chain", "network", "devnet.", "log."}},
      {{"--file",
        &A::file,
        "A chain of blocks, from its first (default: simulated)",
        {.value = "FILE"}},
       {"--window",
        &A::window,
        "Blocks that can be undone, and are kept",
        {.show_default = true, .range = {1, 100'000}}},
       {"--only-sync", &A::only_sync, "Measure only the first sync and its ratio to raw writes"}},
      run_bench_utxo);
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

std::vector<cli::Command> tool_commands() {
  return {{.path = {"devnet"}, .summary = "Tools for simulated chains"},
          devnet_write(),
          decode(),
          {.path = {"bench"}, .summary = "Measure this machine"},
          bench_decode(),
          bench_utxo(),
          bench_wallet()};
}

}  // namespace coffer::app
