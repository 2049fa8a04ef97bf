// Whether requests may be sent here: for load balancers and `coffer status --check`, of the whole
// process or of one consumer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/status.h"
#include "base/result.h"

namespace coffer::api {

struct Readiness {
  bool ready = false;
  // "ready"; "stale": it answers, from data that may be old, as while the source is away;
  // "unavailable": requests fail, as while a database is away.
  std::string_view state;
  std::vector<std::string> reasons;
};

// Of everything, or of what a program needs that only asks this consumer: then others may fail.
// Errors: kNotFound if there is no such consumer, or it is off.
Result<Readiness> readiness_of(const Status& status, std::optional<std::string_view> consumer);

// What /health/ready answers.
std::string readiness_json(const Status& status, const Readiness& readiness);

}  // namespace coffer::api
