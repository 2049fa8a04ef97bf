// Status as JSON (snake_case; the field names are stable) and back.
#pragma once

#include <string>
#include <string_view>

#include "api/routes.h"
#include "api/status.h"
#include "base/result.h"

namespace coffer::api {

std::string to_json(const Status& status);

// What to_json() wrote: `coffer status` asks the daemon. Other objects are
// taken for those of engines.
// Errors: kCorrupt.
Result<Status> parse_status(std::string_view json);

// The JSON Schema of what an engine says of itself in ModuleStatus.
struct ModuleSchema {
  std::string name;  // of the module
  std::string json;
};
// The JSON Schemas of the above, and Live for /health/live.
void add_status_schemas(RouteTable& table, const std::vector<ModuleSchema>& modules);

}  // namespace coffer::api
