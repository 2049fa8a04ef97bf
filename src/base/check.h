// CHECK: an invariant that always holds, in every build. A failure ends the process before a wrong
// commit.
#pragma once

namespace coffer {
[[noreturn]] void check_failed(const char* condition, const char* file, int line);
}  // namespace coffer

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) [[unlikely]]                            \
      ::coffer::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
