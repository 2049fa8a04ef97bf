// The status as gauges.
#pragma once

#include "api/metrics.h"
#include "api/status.h"

namespace coffer::api {

// Thread-safe as Metrics is. Totals are gauges too: a rollback takes some of them back.
void set_status_metrics(Metrics& metrics, const Status& status);

}  // namespace coffer::api
