// Bounds that hold everywhere. Each is far above what honest data needs.
#pragma once

#include <cstdint>

namespace coffer::limits {

inline constexpr std::uint64_t kMaxBlockBytes = 8u << 20;  // Bitcoin's consensus limit is 4 MB
inline constexpr std::uint64_t kMaxConfigBytes = 1u << 20;
inline constexpr unsigned kMaxCborDepth = 64;
inline constexpr std::uint64_t kMaxTxsPerBlock =
    200'000;  // a Bitcoin transaction has 60 bytes at least

}  // namespace coffer::limits
