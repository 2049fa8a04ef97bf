#include "token/schema.h"

#include "base/result.h"

namespace coffer::token {

Result<> prepare_community(sql::Database& database, std::string_view name, sql::Schema schema) {
  if (!sql::is_schema_name(name))
    return fail(Code::kUsage,
                "'{}' cannot be the name of a community: use 3 to 41 lower-case letters, digits "
                "and _, a letter first, and not pg_…, public or information_schema",
                name);
  TRY(sql::prepare_schema(database, {.known = embedded_migrations(), .schema = std::string(name)},
                          schema));
  return {};
}

}  // namespace coffer::token
