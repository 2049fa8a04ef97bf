// How long something took, for metrics and benchmarks only: nothing may be decided by it.
#pragma once

#include <chrono>
#include <cstdint>

namespace coffer {

class Stopwatch {
 public:
  std::uint64_t micros() const {
    const auto took = std::chrono::steady_clock::now() - start_;
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  }
  double seconds() const { return static_cast<double>(micros()) / 1e6; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace coffer
