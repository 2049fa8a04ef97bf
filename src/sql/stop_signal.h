// How a process that ends tells its databases not to wait any longer (E13), and the wait for a
// socket that obeys it.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>

namespace coffer::sql {

// Once it is requested, a wait that is under way or begins later lasts kGraceMs at most: a database
// that answers is used to the end, one that hangs keeps nobody. After the first wait that ended so,
// no other is begun. Given to databases as DatabaseOptions::stop, and outlives them. Thread-safe.
class StopSignal {
 public:
  static constexpr std::int64_t kGraceMs = 1'000;

  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  void request();
  bool is_requested() const { return requested_at_ms_ >= 0; }

  // When a wait that began at `begin_ms` and may last until `end_ms` has to end now that this is as
  // it is. Times are of the steady clock.
  std::int64_t end_of_wait(std::int64_t begin_ms, std::int64_t end_ms) const;
  // A wait has ended because of it.
  void give_up() const { has_given_up_ = true; }
  // Readable once it is requested: for poll(). -1 if the system has none left; then a wait notices
  // the request only when it ends.
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
  std::atomic<std::int64_t> requested_at_ms_{-1};
  mutable std::atomic<bool> has_given_up_{false};
};

enum class WaitEnd : std::uint8_t { kReady, kTooLong, kStopped, kFailed };

// Waits until the socket is ready, at most so long. `stop` may be null. kFailed leaves errno.
WaitEnd wait_for(pollfd& socket, std::int64_t limit_ms, const StopSignal* stop);

}  // namespace coffer::sql
