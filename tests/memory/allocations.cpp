#include "memory/allocations.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace coffer::test {
thread_local constinit Allocations allocations;
}

void* operator new(std::size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  coffer::test::Allocations& mine = coffer::test::allocations;
  ++mine.count;
  mine.live_bytes += ::malloc_usable_size(memory);
  mine.peak_bytes = std::max(mine.peak_bytes, mine.live_bytes);
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) coffer::test::allocations.live_bytes -= ::malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
