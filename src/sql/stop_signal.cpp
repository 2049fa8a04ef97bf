#include "sql/stop_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include <coffer/base/clock.h>

namespace coffer::sql {

StopSignal::StopSignal() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

StopSignal::~StopSignal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void StopSignal::request() {
  std::int64_t never = -1;
  if (!requested_at_ms_.compare_exchange_strong(never, system_clock().steady_ms())) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
}

std::int64_t StopSignal::end_of_wait(std::int64_t begin_ms, std::int64_t end_ms) const {
  const std::int64_t requested_at_ms = requested_at_ms_;
  if (requested_at_ms < 0) return end_ms;
  if (has_given_up_) return begin_ms;
  return std::min(end_ms, std::max(begin_ms, requested_at_ms) + kGraceMs);
}

WaitEnd wait_for(pollfd& socket, std::int64_t limit_ms, const StopSignal* stop) {
  constexpr std::int64_t kMostMs = std::numeric_limits<int>::max();
  const std::int64_t begin_ms = system_clock().steady_ms();
  for (;;) {
    const bool stopping = stop != nullptr && stop->is_requested();
    const std::int64_t latest_ms = begin_ms + limit_ms;
    const std::int64_t end_ms = stopping ? stop->end_of_wait(begin_ms, latest_ms) : latest_ms;
    const std::int64_t left_ms = end_ms - system_clock().steady_ms();
    pollfd both[] = {socket, {stop != nullptr && !stopping ? stop->descriptor() : -1, POLLIN, 0}};
    const int ready =
        ::poll(both, 2, static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, kMostMs)));
    if (ready < 0 && errno != EINTR) return WaitEnd::kFailed;
    socket.revents = ready > 0 ? both[0].revents : short{0};
    if (socket.revents != 0) return WaitEnd::kReady;
    if (system_clock().steady_ms() < end_ms) continue;
    if (end_ms >= latest_ms) return WaitEnd::kTooLong;
    stop->give_up();
    return WaitEnd::kStopped;
  }
}

}  // namespace coffer::sql
