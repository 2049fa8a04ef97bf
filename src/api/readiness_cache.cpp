#include "api/readiness_cache.h"

#include "api/readiness.h"

namespace coffer::api {
namespace {

constexpr std::chrono::seconds kOldest{15};

Status without_reasons(Status status) {
  for (ConsumerStatus& consumer : status.consumers) {
    consumer.problem.clear();
    consumer.repair.clear();
  }
  return status;
}

}  // namespace

void ReadinessCache::set(Status status) {
  std::lock_guard lock(mutex_);
  status_ = std::move(status);
  read_ = std::chrono::steady_clock::now();
}

Result<http::Response> ReadinessCache::answer(std::optional<std::string_view> consumer,
                                              bool with_reasons) const {
  std::lock_guard lock(mutex_);
  Readiness found = TRY(readiness_of(status_, consumer));
  const auto age = std::chrono::steady_clock::now() - read_;
  if (age > kOldest)
    found = {false,
             "unavailable",
             {fmt::format(
                 "the state could not be read for {} s: see the log, and whether a database hangs",
                 std::chrono::duration_cast<std::chrono::seconds>(age).count())}};
  else if (!with_reasons && !found.ready)
    found.reasons = {"the reasons need a token"};
  const std::string body = with_reasons ? readiness_json(status_, found)
                                        : readiness_json(without_reasons(status_), found);
  return http::json_response(body, found.ready ? 200 : 503);
}

}  // namespace coffer::api
