#include <coffer/base/clock.h>

#include <chrono>

namespace coffer {
namespace {

template <typename ChronoClock>
std::int64_t now_ms() {
  using std::chrono::milliseconds;
  return std::chrono::duration_cast<milliseconds>(ChronoClock::now().time_since_epoch()).count();
}

class SystemClock final : public Clock {
 public:
  std::int64_t unix_ms() const override { return now_ms<std::chrono::system_clock>(); }
  std::int64_t steady_ms() const override { return now_ms<std::chrono::steady_clock>(); }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace coffer
