// Strong integer types: a height is not an amount, whatever their bits say.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>

namespace coffer {

// For sums of amounts, which may pass 64 bits.
using U128 = __uint128_t;

template <typename Tag>
struct StrongU64 {
  std::uint64_t value = 0;

  constexpr StrongU64() = default;
  constexpr explicit StrongU64(std::uint64_t v) : value(v) {}
  friend constexpr auto operator<=>(StrongU64, StrongU64) = default;

  constexpr StrongU64 next() const { return StrongU64(value + 1); }
  // Counts steps back, stopping at zero.
  constexpr StrongU64 minus(std::uint64_t steps) const {
    return StrongU64(value > steps ? value - steps : 0);
  }
};

// Position of a block on its chain, from 0; unique, also where numbers are shared (E9).
using Ordinal = StrongU64<struct OrdinalTag>;
// The number a block reports: height on Bitcoin, block number on Cardano.
using BlockNumber = StrongU64<struct BlockNumberTag>;
// A slot on Cardano; on Bitcoin the same as the height (U14).
using Slot = StrongU64<struct SlotTag>;
// The smallest unit of a chain's own coin: satoshi, lovelace.
using Amount = StrongU64<struct AmountTag>;

// Nothing on overflow.
inline std::optional<Amount> add(Amount a, Amount b) {
  std::uint64_t sum;
  if (__builtin_add_overflow(a.value, b.value, &sum)) return std::nullopt;
  return Amount(sum);
}

}  // namespace coffer
