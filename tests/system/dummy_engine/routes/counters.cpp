#include "dummy/routes/counters.h"

#include "base/result.h"
#include "dummy/counters.h"
#include "dummy/json/status.h"

namespace coffer::dummy {

void add_counter_routes(api::RouteTable& table, sql::Database* database) {
  table.add({.pattern = "/api/v1/visits",
             .summary = "How many came",
             .response_schema = "DummyStatus",
             .handler = [database](const http::Request&) -> Result<http::Response> {
               if (database == nullptr) return fail(Code::kUnavailable, "dummy.enabled is false");
               const std::uint64_t visits = TRY(read_visits(*database));
               return http::json_response(json::write_fields(StatusReport{visits}));
             }});
}

}  // namespace coffer::dummy
