// The route of the dummy engine.
#pragma once

#include "api/routes.h"
#include "sql/connection.h"

namespace coffer::dummy {

void add_counter_routes(api::RouteTable& table, sql::Database* database);

}  // namespace coffer::dummy
