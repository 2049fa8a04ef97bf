// The commands that need no data directory, as data: simulated chains, decoding, benchmarks.
#include "node/commands.h"

namespace coffer::node {
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

}  // namespace

cli::Command bench_group() {
  return {.path = {"bench"}, .summary = "Measure this machine"};
}

std::vector<cli::Command> tool_commands() {
  return {{.path = {"devnet"}, .summary = "Tools for simulated chains"},
          devnet_write(),
          decode(),
          bench_group(),
          bench_decode()};
}

}  // namespace coffer::node
