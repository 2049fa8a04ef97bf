#include "api/readiness_cache.h"

#include "base/result.h"

namespace coffer::api {
namespace {

constexpr std::chrono::seconds kOldest{15};

Status without_problems(Status status) {
  for (ConsumerStatus& consumer : status.consumers) {
    consumer.problem.clear();
    consumer.repair.clear();
  }
  return status;
}

}  // namespace

void ReadinessCache::set(Status status) {
  auto read = std::make_shared<const Status>(std::move(status));
  std::lock_guard lock(mutex_);
  status_ = std::move(read);
  read_ = std::chrono::steady_clock::now();
}

Result<http::Response> ReadinessCache::answer(std::optional<std::string_view> consumer,
                                              bool with_reasons) const {
  std::shared_ptr<const Status> status;
  std::chrono::steady_clock::duration age{0};
  {
    std::lock_guard lock(mutex_);
    status = status_;
    age = std::chrono::steady_clock::now() - read_;
  }
  Readiness found = TRY(readiness_of(*status, consumer));
  if (age > kOldest)
    found = {false,
             "unavailable",
             {fmt::format("the state could not be read for {} s: see the log, and whether a "
                          "database hangs",
                          std::chrono::duration_cast<std::chrono::seconds>(age).count())}};
  else if (!with_reasons && !found.ready)
    found.reasons = {"the reasons need a token"};
  const std::string body =
      readiness_json(with_reasons ? *status : without_problems(*status), found);
  return http::json_response(body, found.ready ? 200 : 503);
}

}  // namespace coffer::api
