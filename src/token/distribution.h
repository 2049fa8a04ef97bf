// How communities are spread over the nodes of a Citus cluster (T11): a schema each, as a whole.
#pragma once

#include "sql/distribute.h"

namespace coffer::token {

// Triggers of a schema's tables reach only its own.
inline constexpr std::string_view kDistributionSettings[] = {"citus.enable_unsafe_triggers"};
inline constexpr sql::Distribution kDistribution = {
    .reference = {}, .tenant = {}, .settings = kDistributionSettings, .schema = {}};

}  // namespace coffer::token
