#include "oidc/base64url.h"

namespace coffer::oidc {
namespace {

constexpr int kNoDigit = -1;

constexpr int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '-') return 62;
  if (c == '_') return 63;
  return kNoDigit;
}

}  // namespace

std::optional<Bytes> decode_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  Bytes bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  unsigned count = 0;  // of bits that are not in `bytes` yet
  for (const char c : text) {
    const int value = digit(c);
    if (value == kNoDigit) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> count));
    bits &= (1u << count) - 1;
  }
  if (bits != 0) return std::nullopt;
  return bytes;
}

}  // namespace coffer::oidc
