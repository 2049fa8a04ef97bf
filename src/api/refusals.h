// Requests that would have changed something and were refused before their handler: a few lines a
// minute of the audit log, however many there are. /metrics counts all of them.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <coffer/base/clock.h>
#include "api/audit.h"

namespace coffer::api {

// Thread-safe.
class Refusals {
 public:
  static constexpr std::size_t kMaxPerMinute = 10;

  // `clock` outlives it.
  explicit Refusals(const Clock& clock) : clock_(clock) {}

  // Only remembers: nothing is written here.
  void note(const AuditEntry& entry);
  // Writes what was noted since the last call, and once the minute is over how many were dropped.
  // Errors: kUnavailable; what was not written is lost.
  Result<> flush(AuditLog& log);

 private:
  const Clock& clock_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::string> lines_;
  std::int64_t since_ms_ = 0;
  std::size_t noted_ = 0, dropped_ = 0;  // since then
};

}  // namespace coffer::api
