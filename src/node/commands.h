// The commands of the program itself: those of engines are in their own directories.
#pragma once

#include <optional>
#include <string>

#include "node/command.h"

namespace coffer::node {

// Each prints its result on stdout and returns an error instead of printing it.
Result<> run_serve(const Context& context, bool demo);
Result<> run_sync(const Context& context, std::optional<std::uint64_t> to_height);
Result<> run_status(const Context& context);
// Errors: kConflict while the process that serves the data directory is not ready, kUnavailable if
// it cannot be reached. Of one consumer, or with an empty name of everything: as /health/ready.
Result<> run_status_check(const Context& context, const std::string& consumer);
Result<> run_rebuild(const Context& context, const std::string& consumer);
// Every setting with its value and where it comes from; secrets are not shown.
Result<> run_settings(const Context& context);
Result<> run_version(const cli::Invocation& given);  // reads no settings

struct DevnetWriteArguments {
  std::string out;             // a file, replaced whole
  std::uint64_t blocks = 300;  // height of the last block
  std::string format = "blk";  // blk, hex or raw
  bool with_stale = false;     // blocks of abandoned branches too, as they came
};
Result<> run_devnet_write(const Context& context, const DevnetWriteArguments& arguments);

struct BenchArguments {
  std::string file;  // blocks to decode: blk, hex lines or one raw block; empty: simulated ones
  std::uint64_t seconds = 2;  // per measurement
};
Result<> run_bench_decode(const Context& context, const BenchArguments& arguments);

struct DecodeArguments {
  std::string file;
  std::uint64_t entry = 0;  // of a file with several blocks
};
Result<> run_decode(const Context& context, const DecodeArguments& arguments);

// node_command_table.cpp, tool_command_table.cpp: the commands above as data.
std::vector<cli::Command> node_commands();
std::vector<cli::Command> tool_commands();

// Parses the command line, runs the command, prints its error; the exit code. After set_modules().
int run_main(int argc, char** argv);

}  // namespace coffer::node
