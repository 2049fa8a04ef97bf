// coffer utxo …: each prints its result on stdout and returns an error instead of printing it.
// Reading commands may run beside a daemon and see the state of the moment they began.
#pragma once

#include "http/message.h"
#include "node/command.h"

namespace coffer::utxo {

using node::Context;

// commands.cpp: all of them as data.
std::vector<cli::Command> utxo_commands();

// outputs.cpp. Errors: kUsage for what was typed; kNotFound; those of UtxoReader::open.
Result<> run_utxo_get(const Context& context, const std::string& outpoint);
struct UtxoPageArguments {
  bool by_credential = false;
  std::string owner;   // an address or a credential
  http::Fields query;  // page, count, …, as on HTTP
};
Result<> run_utxo_page(const Context& context, const UtxoPageArguments& arguments);
Result<> run_utxo_balance(const Context& context, const std::string& address);
Result<> run_utxo_stats(const Context& context);
Result<> run_utxo_dump(const Context& context);
Result<> run_utxo_digest(const Context& context);
Result<> run_utxo_root(const Context& context, std::optional<std::uint64_t> block);

// proofs.cpp
struct UtxoProofArguments {
  std::string outpoint;
  std::optional<std::uint64_t> block;  // nothing: the newest
};
Result<> run_utxo_proof(const Context& context, const UtxoProofArguments& arguments);
struct CheckProofArguments {
  std::string file;
  std::string root;      // 64 hex digits
  std::string outpoint;  // that the proof must be of; empty: whichever it is of
};
// Needs no data. Errors: kInvalidInput if the proof does not hold.
Result<> run_utxo_check_proof(const Context& context, const CheckProofArguments& arguments);

// state.cpp
Result<> run_utxo_verify(const Context& context);
// Back to the state after this block; the daemon must be stopped.
Result<> run_utxo_rollback(const Context& context, std::uint64_t block);
// A checkpoint of the whole database, to be used as a data directory or given to restore.
Result<> run_utxo_snapshot(const Context& context, const std::string& directory);
Result<> run_utxo_restore(const Context& context, const std::string& directory);

// bench.cpp
struct BenchUtxoArguments {
  std::string file;            // a chain of blocks; empty: a simulated one
  std::uint64_t window = 100;  // utxo.rollbackWindow and utxo.pruneDepth
  bool only_sync = false;      // the first sync alone
};
Result<> run_bench_utxo(const Context& context, const BenchUtxoArguments& arguments);

}  // namespace coffer::utxo
