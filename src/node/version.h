// The program's version, from the build.
#pragma once

#include <string_view>

namespace coffer::node {

inline constexpr std::string_view kVersion = COFFER_VERSION;

}  // namespace coffer::node
