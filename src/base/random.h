// Randomness behind a seed (E7), and the system's own for secrets.
#pragma once

#include <cstdint>
#include <span>

#include <coffer/base/bytes.h>

namespace coffer {

// A fast deterministic generator (xoshiro256**): the same seed gives the same numbers on every
// machine. Not for secrets. Not thread-safe.
class Rng {
 public:
  using result_type = std::uint64_t;
  explicit Rng(std::uint64_t seed);
  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return ~std::uint64_t{0}; }
  std::uint64_t operator()();
  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  // True once in `in` times on average.
  bool one_in(std::uint64_t in) { return below(in) == 0; }
  void fill(std::span<std::uint8_t> bytes);

 private:
  std::uint64_t state_[4];
};

// Bytes from the operating system, for tokens and ids. Ends the process if there are none.
void fill_secure(std::span<std::uint8_t> bytes);
std::uint64_t random_seed();

}  // namespace coffer
