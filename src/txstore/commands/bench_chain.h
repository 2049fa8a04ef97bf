// What the parts of `coffer bench txstore` share.
#pragma once

#include <filesystem>
#include <string>

#include <coffer/chainstate/chain_state.h>
#include <coffer/txstore/store.h>
#include "config/config.h"

namespace coffer::txstore {

struct BenchChain {
  const config::Config& config;
  chain::Network network;
  std::string file;
  std::filesystem::path scratch;
};

struct AtTip {
  double seconds = 0, raw_seconds = 0;
  std::uint64_t blocks = 0, transactions = 0, deleted = 0, rows = 0;
};

// One block a commit, log on; measured where deletion is in a steady state, against the same row
// changes put raw.
Result<AtTip> bench_tip(const BenchChain& bench);
// The blocks of the file, one a commit.
Result<> feed_at_tip(const BenchChain& bench, Store& store);

// Parents of three children with two inputs each, all due at once: the seconds that it takes.
inline constexpr std::uint64_t kBenchParents = 20'000, kBenchChildren = 3, kBenchInputs = 2;
Result<double> bench_deletion(const BenchChain& bench);

}  // namespace coffer::txstore
