// What the commands of the program share: settings, output, exit codes.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "config/config.h"

namespace coffer::app {

// Everything a command is given besides its own arguments.
struct Context {
  config::Config config;
  bool json = false;               // machine-readable output on stdout
  std::string program = "coffer";  // as it was called, for hints to type
};

// Each prints its result on stdout and returns an error instead of printing it.
Result<> run_serve(const Context& context, bool demo);
Result<> run_sync(const Context& context, std::optional<std::uint64_t> to_height);
Result<> run_status(const Context& context);
// Errors: kConflict while the process that serves the data directory is not ready, kUnavailable if
// it cannot be reached.
Result<> run_status_check(const Context& context);
Result<> run_rebuild(const Context& context, const std::string& consumer);
// Every setting with its value and where it comes from; secrets are not shown.
Result<> run_settings(const Context& context);
Result<> run_version(const Context& context);

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

struct BenchUtxoArguments {
  std::string file;            // a chain of blocks; empty: a simulated one
  std::uint64_t window = 100;  // utxo.rollbackWindow and utxo.pruneDepth
  bool only_sync = false;      // the first sync alone
};
Result<> run_bench_utxo(const Context& context, const BenchUtxoArguments& arguments);

struct BenchWalletArguments {
  std::string database;                // an empty one; nothing: SQLite in a scratch directory
  std::optional<std::uint64_t> coins;  // one case of this size; nothing: a row of cases
  std::uint64_t history = 1;           // spent coins for each unspent one
  std::uint64_t wallets = 1;
};
Result<> run_bench_wallet(const Context& context, const BenchWalletArguments& arguments);

struct DecodeArguments {
  std::string file;
  std::uint64_t entry = 0;  // of a file with several blocks
};
Result<> run_decode(const Context& context, const DecodeArguments& arguments);

// node_command_line.cpp, tool_command_line.cpp: the commands above as data.
std::vector<cli::Command> node_commands();
std::vector<cli::Command> tool_commands();

// The settings of all engines; before anything is read.
void declare_settings();

// Parses the command line, runs the command, prints its error; the exit code.
int run_main(int argc, char** argv);

}  // namespace coffer::app
