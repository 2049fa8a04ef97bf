// Byte by byte with one table: it only ever sees addresses.
#include "crypto/crc32.h"

#include <array>

namespace coffer::crypto {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320u : 0u);
    table[byte] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32(ByteView data, std::uint32_t previous) {
  std::uint32_t value = ~previous;
  for (const std::uint8_t byte : data) value = (value >> 8) ^ kTable[(value ^ byte) & 0xFF];
  return ~value;
}

}  // namespace coffer::crypto
