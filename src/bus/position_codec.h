// A position as consumers store it: empty at Origin, else ordinal(8) slot(8) hash(32), big-endian.
#pragma once

#include "bus/event.h"

namespace coffer::bus {

Bytes encode_position(const Position& position);
// Errors: kCorrupt.
Result<Position> decode_position(ByteView data);

}  // namespace coffer::bus
