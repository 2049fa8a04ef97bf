// The largest amount on Bitcoin: all satoshi that can ever exist.
#pragma once

#include <cstdint>

namespace coffer::chain {

inline constexpr std::uint64_t kMaxMoney = 21'000'000ull * 100'000'000;

}  // namespace coffer::chain
