// What labels are for.
#pragma once

#include <string>

#include "chain/network.h"

namespace coffer::wallet {

// In the one form in which it is kept: a txid, an address, or TXID:INDEX.
struct LabelTarget {
  std::string kind, ref;
};
// An output is written TXID#INDEX or TXID:INDEX. Thread-safe. Errors: kInvalidInput.
Result<LabelTarget> parse_label_target(const chain::Network& network, std::string_view kind,
                                       std::string_view ref);

}  // namespace coffer::wallet
