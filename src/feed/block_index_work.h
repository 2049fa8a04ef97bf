// Proof of work as Bitcoin counts it: how many hashes a header's target stands for, in 256 bits.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

namespace coffer::feed {

// An unsigned 256-bit number; additions wrap, which no honest chain comes near.
struct Work {
  std::array<std::uint64_t, 4> words{};  // the most significant first, so that == and < just work

  static Work of(std::uint64_t value) { return {{0, 0, 0, value}}; }
  friend auto operator<=>(const Work&, const Work&) = default;
  Work& operator+=(const Work& other);
  Work& operator-=(const Work& other);  // of one that was added
};

// The work of one block from the compact target in its header: 2^256 / (target + 1). Zero for
// targets that no block can have (negative, zero, beyond 256 bits). Thread-safe; under a
// microsecond.
Work work_of_bits(std::uint32_t bits);

}  // namespace coffer::feed
