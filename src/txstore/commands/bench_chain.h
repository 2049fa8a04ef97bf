// What the parts of `coffer bench txstore` share.
#pragma once

#include <sys/resource.h>

#include <filesystem>
#include <string>

#include <coffer/chainstate/chain_state.h>
#include <coffer/txstore/store.h>
#include "base/stopwatch.h"
#include "config/config.h"

namespace coffer::txstore {

// Wall clock, and what all threads of the process computed meanwhile: on a busy machine the second
// says more.
struct BenchTime {
  double seconds = 0, cpu_seconds = 0;
  void add(const BenchTime& more) {
    seconds += more.seconds;
    cpu_seconds += more.cpu_seconds;
  }
};
class BenchWatch {
 public:
  BenchTime time() const { return {watch_.seconds(), cpu_now() - cpu_at_start_}; }

 private:
  static double cpu_now() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  const Stopwatch watch_;
  const double cpu_at_start_ = cpu_now();
};

struct BenchChain {
  const config::Config& config;
  chain::Network network;
  std::string file;
  std::filesystem::path scratch;
};

struct AtTip {
  BenchTime time, raw;
  std::uint64_t blocks = 0, transactions = 0, deleted = 0, rows = 0;
};

// One block a commit, log on; measured where deletion is in a steady state, against the same row
// changes put raw.
Result<AtTip> bench_tip(const BenchChain& bench);
// The blocks of the file, one a commit.
Result<> feed_at_tip(const BenchChain& bench, Store& store);

// Parents of three children with two inputs each, all due at once.
inline constexpr std::uint64_t kBenchParents = 20'000, kBenchChildren = 3, kBenchInputs = 2;
Result<BenchTime> bench_deletion(const BenchChain& bench);

}  // namespace coffer::txstore
