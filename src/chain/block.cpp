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

Result<Hash256> parse_display(Family family, std::string_view text) {
  if (text.size() != 2 * Hash256::kSize || !is_hex(text))
    return fail(Code::kInvalidInput, "expected {} hex digits", 2 * Hash256::kSize);
  const Bytes bytes = TRY(from_hex(text));
  const Hash256 hash = Hash256::from(bytes.data());
  return family == Family::kBitcoin ? reversed(hash) : hash;
}

}  // namespace coffer::chain
