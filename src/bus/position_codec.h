// A position as consumers store it: empty at Origin, else ordinal(8) slot(8) hash(32), big-endian.
#pragma once

#include <array>

#include <coffer/bus/event.h>

namespace coffer::bus {

// Eight bytes, big-endian: in the order of the chain.
inline std::array<std::uint8_t, 8> ordinal_key(Ordinal ordinal) {
  std::array<std::uint8_t, 8> key;
  store_be64(key.data(), ordinal.value);
  return key;
}

Bytes encode_position(const Position& position);
// Errors: kCorrupt.
Result<Position> decode_position(ByteView data);

}  // namespace coffer::bus
