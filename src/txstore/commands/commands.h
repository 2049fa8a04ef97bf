// coffer tx …: each prints its result on stdout and returns an error instead of printing it.
// Reading commands may run beside a daemon and see the state of the moment they began. Those that
// change something ask the daemon of the directory if there is one.
#pragma once

#include "node/command.h"
#include "txstore/json/input.h"

namespace coffer::txstore {

using node::Context;

// commands.cpp: all of them as data.
std::vector<cli::Command> txstore_commands();

// reads.cpp. Errors: kUsage for what was typed; kNotFound; those of OpenStore::open.
struct TxGetArguments {
  std::string tx;
  bool raw = false;
  std::uint32_t outputs_from = 0;
  std::uint32_t outputs_count = 100;
};
Result<> run_tx_get(const Context& context, const TxGetArguments& arguments);
Result<> run_tx_explain(const Context& context, const std::string& tx);
struct TxListArguments {
  bool unmined = false, conflicting = false;
  std::string kept;
  std::optional<std::uint64_t> older_than;
  std::uint64_t count = 100;
  std::string cursor;
};
Result<> run_tx_list(const Context& context, const TxListArguments& arguments);
Result<> run_tx_dump(const Context& context);
Result<> run_tx_digest(const Context& context);
Result<> run_tx_stats(const Context& context);
// Errors also: kCorrupt naming what does not fit.
Result<> run_tx_verify(const Context& context);

// changes.cpp
Result<> run_tx_prune(const Context& context, const PruneTxs& wanted);
Result<> run_tx_preserve(const Context& context, const std::string& tx, const PreserveTx& wanted);
Result<> run_tx_freeze(const Context& context, const std::string& output, bool frozen);

// rebuild.cpp. `yes`: whatever the source can fetch again. Errors also: kConflict if it cannot be
// told, or if the source lacks blocks that the store was made of; kUnavailable while a daemon runs.
Result<> run_tx_rebuild(const Context& context, bool yes);

// bench.cpp
struct BenchTxArguments {
  std::string file;                     // a chain of blocks; empty: a simulated one
  std::uint64_t blocks = 600;           // of the simulated one
  bool only_sync = false;               // the first sync alone
  std::string sql_store, sql_playback;  // two empty databases; empty: SQL is not measured
};
Result<> run_bench_txstore(const Context& context, const BenchTxArguments& arguments);

}  // namespace coffer::txstore
