// What /health/ready answers, without asking anything that could hang.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>

#include "api/readiness.h"
#include "http/message.h"

namespace coffer::api {

// Thread-safe; a lock that nobody holds for long.
class ReadinessCache {
 public:
  // What was read just now. The first comes before any answer().
  void set(Status status);
  // 200 or 503, of one consumer if it is named. When nothing was read for 15 seconds, whatever is
  // asked for it hangs: 503. The reasons name addresses and users: a stranger gets none of them,
  // only the names of consumers. Errors: those of readiness_of.
  Result<http::Response> answer(std::optional<std::string_view> consumer, bool with_reasons) const;

 private:
  using Time = std::chrono::steady_clock::time_point;

  mutable std::mutex mutex_;
  std::shared_ptr<const Status> status_;
  Time read_;
};

}  // namespace coffer::api
