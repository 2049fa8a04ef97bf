#include <coffer/chain/block.h>
#include "base/result.h"

#include <ostream>

namespace coffer::chain {

std::ostream& operator<<(std::ostream& out, Family family) {
  return out << (family == Family::kBitcoin ? "Bitcoin" : "Cardano");
}

void Block::clear() {
  Block empty;
  std::swap(empty.txs, txs), std::swap(empty.inputs, inputs), std::swap(empty.outputs, outputs);
  std::swap(empty.assets, assets), std::swap(empty.minted, minted),
      std::swap(empty.storage, storage);
  empty.txs.clear(), empty.inputs.clear(), empty.outputs.clear();
  empty.assets.clear(), empty.minted.clear(), empty.storage.clear();
  *this = std::move(empty);
}

std::string display(Family family, const Hash256& hash) {
  return family == Family::kBitcoin ? reversed(hash).hex() : hash.hex();
}

std::string display(Family family, const Outpoint& outpoint) {
  return fmt::format("{}#{}", display(family, outpoint.tx), outpoint.index);
}

}  // namespace coffer::chain
