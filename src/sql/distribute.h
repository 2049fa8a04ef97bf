// Spreads the tables of a PostgreSQL database over the nodes of a Citus cluster.
// Invariant: a table is distributed in a transaction of its own, after those that it refers to, so
// that a run that was interrupted is finished by the next. (Citus copies the rows of a table that
// is not empty only so: not several in one transaction.)
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sql/connection.h"

namespace coffer::sql {

// A table whose rows belong to a tenant, and the column that says to which.
struct TenantTable {
  std::string_view table, column;
};

// The names come from the program, never from input: small letters, digits and _.
struct Distribution {
  std::span<const std::string_view> reference;  // whole on every node
  // Rows of one tenant are together on one node, in all of these; a table stands after those that
  // it refers to.
  std::span<const TenantTable> tenant;
  std::span<const std::string_view> settings;  // switched on for each of the transactions
  // A schema whose tables go to one node together, each schema to another one (Citus 12), instead
  // of those above; empty: none.
  std::string_view schema = {};
};

struct DistributeStep {
  std::string table;  // or schema
  std::string statement;
  bool done_before = false;  // it was distributed already
};

// What there is to do, in order. Without the extension: everything. Changes nothing. Thread-safe.
// Errors: kUsage on SQLite; those of statements.
Result<std::vector<DistributeStep>> plan_distribution(Database& database,
                                                      const Distribution& distribution);

// Distributes what is not yet, calling `done` after each step, also after those that were done
// before. Waits for whoever changes the schema now. Thread-safe, and safe beside other processes.
// Errors: kUsage on SQLite; kUnavailable without the extension; kNotFound if a table is missing;
// those of statements. After an error the tables before it stay distributed.
Result<std::vector<DistributeStep>> distribute(
    Database& database, const Distribution& distribution,
    const std::function<void(const DistributeStep&)>& done = {});

}  // namespace coffer::sql
