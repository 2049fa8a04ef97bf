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
                    {{"file", &A::out, "File to write; overwritten if it exists"},
                     {"--blocks", &A::blocks, "Height of the last block", {.show_default = true}},
                     {"--format",
                      &A::format,
                      "blk (magic, size, block), hex (a block a line) or raw",
                      {.show_default = true, .choices = {"blk", "hex", "raw"}}},
                     {"--with-stale", &A::with_stale,
                      "Also write blocks of stale branches, in order of arrival"}},
                    run_devnet_write);
}

cli::Command decode() {
  using A = DecodeArguments;
  return command<A>(
      {.path = {"decode"},
       .summary = "Print a Bitcoin or Cardano block as JSON",
       .examples = "  coffer decode --chain cardano block.hex\n",
       .settings = {"chain", "network", "log."}},
      {{"file", &A::file, "File with raw, hex or blk-style blocks"},
       {"--entry", &A::entry, "Number of the block in the file, from 0", {.show_default = true}}},
      run_decode);
}

cli::Command bench_decode() {
  using A = BenchArguments;
  return command<A>(
      {.path = {"bench", "decode"},
       .summary = "Measure how fast blocks are decoded, with and without hashing",
       .examples = "  coffer bench decode --seconds 5\n",
       .settings = {"chain", "devnet.", "log."}},
      {{"--file",
        &A::file,
        "Blocks to decode: blk-style, hex lines or one raw block (default: simulated)",
        {.value = "FILE"}},
       {"--seconds",
        &A::seconds,
        "Duration of each measurement",
        {.show_default = true, .range = {1, 60}}}},
      run_bench_decode);
}

}  // namespace

cli::Command bench_group() {
  return {.path = {"bench"}, .summary = "Measure the speed of this machine"};
}

std::vector<cli::Command> tool_commands() {
  return {{.path = {"devnet"}, .summary = "Tools for simulated chains"},
          devnet_write(),
          decode(),
          bench_group(),
          bench_decode()};
}

}  // namespace coffer::node
