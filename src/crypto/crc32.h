// CRC-32 (IEEE 802.3, as in zlib): the checksum inside Cardano's Byron addresses.
#pragma once

#include <cstdint>

#include <coffer/base/bytes.h>

namespace coffer::crypto {

// Thread-safe, cannot fail. Pass the result of the bytes before to go on: crc32(b, crc32(a)) is
// crc32(a‖b).
std::uint32_t crc32(ByteView data, std::uint32_t previous = 0);

}  // namespace coffer::crypto
