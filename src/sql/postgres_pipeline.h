// The connection in libpq's pipeline mode: statements go out without waiting for the answer of
// each.
#pragma once

#include "base/result.h"
#include "sql/postgres_impl.h"

namespace coffer::sql {

// Opened by open(), closed by close(): then the connection is as before, also after an error.
class PgPipeline {
 public:
  explicit PgPipeline(PostgresDriver& driver) : driver_(driver) {}

  Result<> open();
  // Sends all that is queued, and reads what comes meanwhile.
  Result<> send();
  // Marks the end, where the server goes on after an error, and sends all.
  Result<> sync();
  // Waits for the next result; null between the results of two statements. An error once the
  // connection is broken.
  Result<PgResult> next_result();
  Result<> close();

 private:
  Result<> fail_with_connection();

  PostgresDriver& driver_;
};

}  // namespace coffer::sql
