// The status as text for people.
#pragma once

#include <string>

#include "api/status.h"

namespace coffer::node {

// `running`: it came from a live process; otherwise from what is stored. `now_unix_ms` is for ages.
std::string render_status(const api::Status& status, bool running, std::int64_t now_unix_ms);

// Two lines after an import.
std::string sync_summary(const api::Status& status);

}  // namespace coffer::node
