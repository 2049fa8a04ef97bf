// The one answer of a module that the settings switched off.
#pragma once

#include <string_view>

#include "base/result.h"

namespace coffer::config {

// Asking again does not help, another setting and a new start do.
inline Error switched_off(std::string_view what, std::string_view setting) {
  return {Code::kUnavailable, false,
          fmt::format("{} is switched off; set {} = true to use it", what, setting),
          "switched_off"};
}

}  // namespace coffer::config
