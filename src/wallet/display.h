// Hashes and outpoints as people and programs read them: the wallet is Bitcoin's.
#pragma once

#include <coffer/chain/block.h>

namespace coffer::wallet {

inline std::string to_display(const Hash256& hash) {
  return chain::display(chain::Family::kBitcoin, hash);
}
inline std::string to_display(const chain::Outpoint& outpoint) {  // TXID#0
  return chain::display(chain::Family::kBitcoin, outpoint);
}

}  // namespace coffer::wallet
