// Time behind an interface, so that a run can be replayed and a test can move it (E7).
#pragma once

#include <atomic>
#include <cstdint>

namespace coffer {

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since 1970, as the machine believes. May jump. Thread-safe.
  virtual std::int64_t unix_ms() const = 0;
  // Milliseconds from an arbitrary start; never goes back. Thread-safe.
  virtual std::int64_t steady_ms() const = 0;
};

// The machine's own clock. Lives as long as the process.
const Clock& system_clock();

class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t start_unix_ms) : unix_ms_(start_unix_ms) {}
  std::int64_t unix_ms() const override { return unix_ms_; }
  std::int64_t steady_ms() const override { return steady_ms_; }
  // Both clocks move on; a skew moves the wall clock alone.
  void advance_ms(std::int64_t by) { unix_ms_ += by, steady_ms_ += by; }
  void skew_ms(std::int64_t by) { unix_ms_ += by; }

 private:
  std::atomic<std::int64_t> unix_ms_;
  std::atomic<std::int64_t> steady_ms_{0};
};

}  // namespace coffer
