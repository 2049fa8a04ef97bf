// One group on its way through a transaction.
#pragma once

#include "token/transfer/group_queue.h"
#include "token/transfer/ledger.h"

namespace coffer::token {

// What became of the item at the same place.
struct GroupAnswer {
  Result<Applied> applied = Applied{};
  // A wallet of it that another session has locked: nothing was decided.
  std::optional<Uuid> locked_elsewhere = {};
};

// Decides all of them and commits what is accepted, in the given transaction, which ends. Errors:
// nothing is committed, or nobody knows.
Result<> commit_group(sql::Transaction& sql, const Community& community, const GroupItems& items,
                      std::vector<GroupAnswer>& answers);

// The same in a transaction of its own. A group that fails for what one of its items did, such as
// an id that another process inserted meanwhile, falls apart into halves. Never fails: an error
// that is nobody's own is the answer of all.
std::vector<GroupAnswer> run_group(const Community& community, GroupItems& items);

}  // namespace coffer::token
