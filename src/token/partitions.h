// A community on PostgreSQL whose transactions are divided by months (T8).
#pragma once

#include "token/community.h"

namespace coffer::token {

// Made by CMake from migrations/partitioned.sql.
std::string_view partitioned_text();

// Divides the transactions of a community that has none yet; again changes nothing. As the owner of
// its tables. Errors: kUsage on SQLite; kConflict if there are transactions.
Result<> partition_by_month(const Community& community);
// Makes the partitions of the months ahead, if it is divided: at start and daily. Nothing else
// changes. Errors: those of statements.
Result<> ensure_partitions(const Community& community);

}  // namespace coffer::token
