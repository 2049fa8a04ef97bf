// A decoded transaction, as the wallet looks at it, and what must hold before it is recorded.
#pragma once

#include <coffer/chain/network.h>
#include <memory>
#include "chain/bitcoin_limits.h"

namespace coffer::wallet {

// A row of a block, or the only row of a transaction by itself. Views both.
struct TxView {
  const chain::Block& block;
  const chain::Tx& tx;

  std::span<const chain::Input> inputs() const {
    if (tx.coinbase) return {};  // its one input names nothing
    return block.inputs_of(tx);
  }
  std::span<const chain::Output> outputs() const { return block.outputs_of(tx); }
  // Whether any input has a witness; other signatures are part of the id. The bytes may be in the
  // form for witnesses and have none: that is a byte for each input, which says so.
  bool is_signed() const {
    const std::size_t empty = 4 + 2 + tx.core.size() + tx.inputs.count + 4;
    return tx.segwit && tx.raw.size() > empty;
  }
};

using chain::kMaxMoney;

// A transaction of the wire format, by itself. Errors: kInvalidInput if it is malformed, has no
// inputs or outputs, an input twice, or amounts above all money there is; kTooLarge. Cost: one pass
// over the bytes, and a sort of the inputs.
Result<std::unique_ptr<chain::Block>> decode_tx(const chain::Network& network, ByteView raw);

}  // namespace coffer::wallet
