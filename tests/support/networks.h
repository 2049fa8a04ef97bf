// For tests: the networks that most of them use, and a Bitcoin hash as nodes print it.
#pragma once

#include <string>

#include <coffer/chain/network.h>

namespace coffer::test {

inline const chain::Network kRegtest = chain::find_network("bitcoin", "regtest").value();
inline const chain::Network kDevnet = chain::find_network("cardano", "devnet").value();

inline std::string printed(const Hash256& hash) {
  return chain::display(chain::Family::kBitcoin, hash);
}

}  // namespace coffer::test
