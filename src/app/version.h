// The program's version, from the build.
#pragma once

#include <string_view>

namespace coffer::app {

inline constexpr std::string_view kVersion = COFFER_VERSION;

}  // namespace coffer::app
