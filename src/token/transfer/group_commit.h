// Transfers that wait are decided together, in memory, on wallets whose rows are locked, and
// committed together in two waits for the server. Invariant: the answers are those of some serial
// order; a refused transfer changes nothing for the others; an answer is given once, after the
// commit is durable.
#pragma once

#include <memory>

#include <coffer/token/store.h>
#include "token/community.h"

namespace coffer::token {

class GroupCommit {
 public:
  // Starts its threads at the first transfer.
  GroupCommit(const Community& community, const StoreOptions& options);
  // Answers what waits with kCancelled, after what is under way.
  ~GroupCommit();

  void submit(Transfer transfer, Actor actor, Store::Done done);
  Store::GroupStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace coffer::token
