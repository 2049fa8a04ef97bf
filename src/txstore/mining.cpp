// Which blocks have a transaction. A block that was undone is remembered, off the chain, until no
// branch can bring it back.
#include "base/result.h"
#include "txstore/operations.h"

namespace coffer::txstore {

ItemResult set_mined(Workspace& work, Record& record, const BlockRef& block, bool longest_chain,
                     std::uint64_t height) {
  StoredTx& tx = record.head;
  if (tx.state == State::kConflicting) return {Outcome::kConflicting};
  const auto found = std::find_if(tx.blocks.begin(), tx.blocks.end(),
                                  [&](const MinedIn& in) { return in.block == block; });
  if (found != tx.blocks.end() && found->on_longest_chain == longest_chain)
    return {Outcome::kUnchanged};
  work.touch(record);
  if (found != tx.blocks.end())
    found->on_longest_chain = longest_chain;
  else
    tx.blocks.push_back({block, longest_chain});
  if (longest_chain) {
    tx.locked = false;
  } else if (!tx.on_longest_chain() && !tx.unmined_since) {
    tx.unmined_since = tx.absent_since = work.height();
  }
  work.restamp(record, height);
  return {Outcome::kDone};
}

Result<> forget_lock(Workspace& work, const Hash256& id) {
  TRY(work.load_marks({&id, 1}));
  const Mark* mark = work.find_mark(id);
  if (mark != nullptr && mark->locked) TRY(work.mark(id))->locked = false;
  return {};
}

Result<ItemResult> unset_mined(Workspace& work, Record& record, const BlockRef& block,
                               std::uint64_t height) {
  StoredTx& tx = record.head;
  const auto found = std::find_if(tx.blocks.begin(), tx.blocks.end(), [&](const MinedIn& in) {
    return in.block == block && in.on_longest_chain;
  });
  if (found == tx.blocks.end()) return ItemResult{Outcome::kUnchanged};
  work.touch(record);
  found->on_longest_chain = false;
  if (!tx.on_longest_chain()) tx.unmined_since = tx.absent_since = work.height();
  work.restamp(record, height);
  if (tx.coinbase && tx.state == State::kUnmined)
    (void)TRY(mark_conflicting(work, {&record}, height));
  return ItemResult{Outcome::kDone};
}

}  // namespace coffer::txstore
