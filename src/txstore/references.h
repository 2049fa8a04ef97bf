// Outputs that unmined transactions refer to without spending them: reference inputs, collateral of
// a valid transaction, inputs of an invalid one. When a block spends such an output, the
// transaction can no longer be mined. Only Cardano has them, and there only rollbacks make unmined
// transactions, so they are few and are kept in memory.
#pragma once

#include <unordered_map>
#include <vector>

#include <coffer/chain/block.h>

namespace coffer::txstore {

class ReferenceIndex {
 public:
  // A block without header whose only row is the transaction.
  void add(const chain::Block& tx);
  void remove(const Hash256& id);
  // Transactions that refer to an output that the block spends.
  std::vector<Hash256> referrers(const chain::Block& block) const;
  bool empty() const { return by_output_.empty(); }

 private:
  std::unordered_multimap<chain::Outpoint, Hash256, chain::OutpointHash> by_output_;
  std::unordered_map<Hash256, std::vector<chain::Outpoint>, HashOfHash> by_tx_;
};

}  // namespace coffer::txstore
