// One group on its way through a transaction.
#pragma once

#include <atomic>

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

// Whether the next groups are looked at before they are inserted. Refusals rarely come alone: one
// that an insert met makes the next groups careful, so that requests which are meant to be refused
// cannot make everybody's work twice as long.
class GroupCaution {
 public:
  bool take() {
    unsigned left = left_;
    while (left > 0 && !left_.compare_exchange_weak(left, left - 1)) {
    }
    return left > 0;
  }
  void raise() { left_ = kGroups; }

 private:
  static constexpr unsigned kGroups = 32;
  std::atomic<unsigned> left_{0};
};

// The same in a transaction of its own: at first the group is inserted without a look, since most
// are good, and if the mover refuses or a wallet is locked elsewhere it is decided. A group that
// fails for what one of its items did, such as an id that another process inserted meanwhile, falls
// apart into halves. Never fails: an error that is nobody's own is the answer of all.
std::vector<GroupAnswer> run_group(const Community& community, GroupItems& items,
                                   GroupCaution& caution);

}  // namespace coffer::token
