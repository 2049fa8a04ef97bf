// Why and where reading stopped. Readers keep the first fault and answer zeros and empty views from
// then on, so a decoder checks once at the end instead of after every field.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace coffer::codec {

struct Fault {
  const char* what = nullptr;  // a literal; null while all is well
  std::size_t at = 0;          // byte offset in the input

  explicit operator bool() const { return what != nullptr; }
  // "<subject>: <what> at byte <at>" as kInvalidInput.
  Error to_error(std::string_view subject) const {
    return make_error(Code::kInvalidInput, fmt::format("{}: {} at byte {}", subject, what, at));
  }
};

}  // namespace coffer::codec
