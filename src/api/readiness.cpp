#include "api/readiness.h"

#include "api/status_json.h"
#include "base/result.h"

namespace coffer::api {
namespace {

constexpr std::chrono::seconds kOldest{15};

Status without_reasons(Status status) {
  status.not_ready_because.clear();
  if (!status.ready) status.not_ready_because.emplace_back("the reasons need a token");
  for (ConsumerStatus& consumer : status.consumers) {
    consumer.problem.clear();
    consumer.repair.clear();
  }
  return status;
}

}  // namespace

void Readiness::set(const Status& status) {
  std::string json = readiness_json(status),
              for_strangers = readiness_json(without_reasons(status));
  std::lock_guard lock(mutex_);
  json_ = std::move(json);
  public_json_ = std::move(for_strangers);
  ready_ = status.ready;
  read_ = std::chrono::steady_clock::now();
}

http::Response Readiness::answer(bool with_reasons) const {
  std::lock_guard lock(mutex_);
  const auto age = std::chrono::steady_clock::now() - read_;
  if (age <= kOldest)
    return http::json_response(with_reasons ? json_ : public_json_, ready_ ? 200 : 503);
  Status hangs;
  hangs.not_ready_because.push_back(
      fmt::format("the state could not be read for {} s: see the log, and whether a database hangs",
                  std::chrono::duration_cast<std::chrono::seconds>(age).count()));
  return http::json_response(readiness_json(hangs), 503);
}

}  // namespace coffer::api
