#include "txstore/references.h"

namespace coffer::txstore {

void ReferenceIndex::add(const chain::Block& block) {
  const chain::Tx& tx = block.txs.front();
  remove(tx.id);
  std::vector<chain::Outpoint>& outputs = by_tx_[tx.id];
  const auto add_all = [&](std::span<const chain::Input> inputs) {
    for (const chain::Input& input : inputs) {
      outputs.push_back(input.outpoint());
      by_output_.emplace(outputs.back(), tx.id);
    }
  };
  add_all(block.reference_inputs_of(tx));
  add_all(tx.valid ? block.collateral_of(tx) : block.inputs_of(tx));
}

void ReferenceIndex::remove(const Hash256& id) {
  const auto found = by_tx_.find(id);
  if (found == by_tx_.end()) return;
  for (const chain::Outpoint& outpoint : found->second) {
    auto [at, end] = by_output_.equal_range(outpoint);
    for (; at != end; ++at)
      if (at->second == id) {
        by_output_.erase(at);
        break;
      }
  }
  by_tx_.erase(found);
}

std::vector<Hash256> ReferenceIndex::referrers(const chain::Block& block) const {
  std::vector<Hash256> ids;
  if (by_output_.empty()) return ids;
  for (const chain::Tx& tx : block.txs)
    for (const chain::Input& input : block.spent_by(tx)) {
      const auto [begin, end] = by_output_.equal_range(input.outpoint());
      for (auto at = begin; at != end; ++at) ids.push_back(at->second);
    }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace coffer::txstore
