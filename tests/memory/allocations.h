// Counts what the calling thread allocates with operator new; a program that links this counts all
// of its own, so that these tests have a program to themselves.
#pragma once

#include <cstddef>

namespace coffer::test {

struct Allocations {
  std::size_t count = 0;
  std::size_t live_bytes = 0, peak_bytes = 0;
};
extern thread_local constinit Allocations allocations;

}  // namespace coffer::test
