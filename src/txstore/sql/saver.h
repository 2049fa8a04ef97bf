// Writes the changes of a unit: what differs from what it loaded, and nothing else.
#pragma once

#include "txstore/backend.h"
#include "txstore/sql/statements.h"

namespace coffer::txstore {

// A record as it was loaded.
struct Loaded {
  std::vector<MinedIn> blocks;
  std::vector<std::vector<Entry>> pages;  // empty where not loaded
};
using LoadedRecords = std::unordered_map<Hash256, Loaded, HashOfHash>;

// Cost on PostgreSQL: a number of statements that does not depend on that of the records, but for
// one for every 16,384 rows or 8 MiB. The lock on the counts, which all units share, is the last.
// Returns false if another unit has created one of the records meanwhile: then the transaction must
// be rolled back, and the unit tried again.
Result<bool> save_changes(sql::Transaction& sql, const Statements& statements,
                          const Changes& changes, const LoadedRecords& loaded);

}  // namespace coffer::txstore
