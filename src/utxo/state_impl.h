// What a UtxoState reads from. It changes nothing: the state has no data of its own but the
// counters of a writer in the same process, if there is one.
#pragma once

#include <coffer/chain/network.h>
#include <coffer/utxo/state.h>
#include "base/result.h"
#include "utxo/columns.h"
#include "utxo/meta.h"

namespace coffer::utxo {

struct UtxoState::Impl {
  const kv::Database& db;
  const chain::Network network;
  const Columns columns;
  const StoredOptions stored_options;
  const std::function<void(Stats&)> add_counters = nullptr;
};

// One walk over the entries of an owner.
struct UtxoState::Walk {
  kv::Column column;
  Hash224 owner{};
  // Whether the record is really the owner's (U11).
  std::function<bool(const UtxoRecord&)> owns;
};

// The answer to who asks by what is not indexed here: only another setting changes it.
inline Error not_indexed(std::string_view what, std::string_view setting) {
  return {Code::kConflict, false,
          fmt::format("{} are not indexed ({} is off); set it and run 'coffer utxo rebuild'", what,
                      setting),
          "not_indexed"};
}

// Decodes a stored output. Errors: kCorrupt.
Result<Utxo> make_utxo(const chain::Outpoint& outpoint, ByteView stored);

}  // namespace coffer::utxo
