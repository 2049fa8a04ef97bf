// What undoing a block needs, and its bytes (docs/formats/txstore.md).
#pragma once

#include "txstore/record.h"

namespace coffer::txstore {

struct UndoData {
  struct Tx {
    Hash256 id{};
    std::vector<Entry> replaced;  // outputs that it had before, if the id was there already (U4)
  };
  std::vector<Tx> txs;                   // in the block's order
  std::vector<chain::Outpoint> removed;  // by a rule of the ledger (U6)
};

Bytes encode_undo(const UndoData& undo);
// Errors: kCorrupt.
Result<UndoData> decode_undo(ByteView bytes);

}  // namespace coffer::txstore
