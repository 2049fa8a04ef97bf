// A block as JSON, with the field names of the independent implementation that we are compared
// with. Amounts and quantities are strings in the smallest unit, satoshi or lovelace (U9).
#pragma once

#include <string>

#include <coffer/chain/network.h>

namespace coffer::node {

// The block must be hashed. `verified` is whether its commitments were found to match. Errors:
// kInvalidInput for certificates or withdrawals that are none: no store needs them, so that
// decoding has passed over them.
Result<std::string> block_json(const chain::Network& network, const chain::Block& block,
                               bool verified);

}  // namespace coffer::node
