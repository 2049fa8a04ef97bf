// Bounds on what is read from outside. None may refuse what a chain accepts (E12).
#pragma once

#include <cstdint>

namespace coffer::limits {

inline constexpr std::uint64_t kMaxBlockBytes = 8u << 20;  // Bitcoin's consensus limit is 4 MB
inline constexpr std::uint64_t kMaxConfigBytes = 1u << 20;

}  // namespace coffer::limits
