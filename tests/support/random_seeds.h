// Which seeds a test of random sequences runs.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>

#include "support/process.h"

namespace coffer::test {

struct Seeds {
  std::uint64_t first = 1, count = 0;
  bool chosen = false;  // by COFFER_SEED

  // Calls with one seed after the other until there is a failure, and names the seed that failed.
  void run(const std::function<void(std::uint64_t seed)>& sequence) const {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      sequence(seed);
      ASSERT_FALSE(testing::Test::HasFailure()) << "COFFER_SEED=" << seed;
    }
  }
};

// From 1 so many as `count` says, or `long_count` with COFFER_LONG. COFFER_SEED=N chooses that seed
// alone, and with COFFER_SEEDS so many from it.
inline Seeds seeds_of_run(std::uint64_t count, std::uint64_t long_count) {
  Seeds seeds{.count = long_run() ? long_count : count};
  if (const char* seed = std::getenv("COFFER_SEED")) {
    seeds.chosen = true;
    seeds.first = std::strtoull(seed, nullptr, 10);
    const char* chosen = std::getenv("COFFER_SEEDS");
    seeds.count = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 1;
  }
  return seeds;
}

}  // namespace coffer::test
