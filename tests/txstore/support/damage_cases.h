// What Store::verify must find, each case done to a sound store past the engine, with everything
// else that belongs to the change put right, so that only the check for this damage can find it.
#pragma once

#include <functional>
#include <vector>

#include "txstore/support/damaged_store.h"

namespace coffer::txstore::test {

struct DamageCase {
  const char* name;
  const char* message;  // an expression that verify's message matches
  std::function<void(DamagedStore&)> damage;
  bool rocksdb_only = false;  // the others have no such key beside the row
};

// Of all kinds: outputs, heads, keys of indexes, lists of blocks, counts.
std::vector<DamageCase> damage_cases();

}  // namespace coffer::txstore::test
