// Keys and values of the chain's columns.
// Integers are big-endian so that keys sort by number.
#pragma once

#include <coffer/chainstate/chain_state.h>
#include "bus/position_codec.h"

namespace coffer::chainstate {

using bus::ordinal_key;
Bytes stale_key(Ordinal ordinal, const Hash256& hash);

// prev(32) ordinal(8) number(8) slot(8) time(8) flags(1: bit 0 = epoch boundary)
Bytes encode_header(const HeaderInfo& info);
Result<HeaderInfo> decode_header(const Hash256& hash, ByteView data);

// hash(32) number(8) slot(8)
Bytes encode_active(const HeaderInfo& info);

}  // namespace coffer::chainstate
