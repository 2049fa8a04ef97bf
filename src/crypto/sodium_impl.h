// libsodium must be initialised before its first use.
#pragma once

#include <sodium.h>

#include "base/check.h"

namespace coffer::crypto {

// sodium_init() chooses the fastest implementation for this processor; it may be called from any
// thread and more than once.
inline void ensure_sodium() {
  static const bool initialised = sodium_init() >= 0;
  CHECK(initialised);
}

}  // namespace coffer::crypto
