#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace coffer {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "coffer: invariant broken at %s:%d: %s; please report this\n", file, line,
               condition);
  std::abort();
}

}  // namespace coffer
