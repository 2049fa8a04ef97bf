// The connection in libpq's pipeline mode: statements go out without waiting for the answer of
// each. Invariant: the connection does not block while the pipeline is open; otherwise both sides
// could wait for the other to read.
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
  // Waits for the next result; nullptr between the results of two statements, and for ever once the
  // connection is lost.
  Result<PGresult*> next_result();
  Result<> close();

 private:
  Result<> wait_for(short events);
  Result<> fail_with_connection();

  PostgresDriver& driver_;
};

}  // namespace coffer::sql
