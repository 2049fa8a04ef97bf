#include <coffer/base/bytes.h>
#include "base/result.h"

namespace coffer {
namespace {

int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool equal_constant_time(ByteView a, ByteView b) {
  if (a.size() != b.size()) return false;
  volatile std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

std::string to_hex(ByteView bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(bytes.size() * 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    hex[2 * i] = kDigits[bytes[i] >> 4];
    hex[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return hex;
}

bool has_only_hex_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return nibble(c) >= 0; });
}

bool is_hex(std::string_view text) {
  return !text.empty() && text.size() % 2 == 0 && has_only_hex_digits(text);
}

Result<Bytes> from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return fail(Code::kInvalidInput, "hex of odd length {}", hex.size());
  Bytes bytes(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    int high = nibble(hex[i]), low = nibble(hex[i + 1]);
    if (high < 0 || low < 0)
      return fail(Code::kInvalidInput, "not a hex digit at character {}", high < 0 ? i : i + 1);
    bytes[i / 2] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return bytes;
}

Hash256 reversed(const Hash256& hash) {
  Hash256 out = hash;
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace coffer
