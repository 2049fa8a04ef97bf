#include <coffer/token/types.h>

#include <array>

#include "base/random.h"
#include "base/result.h"

namespace coffer::token {
namespace {

constexpr std::array<std::string_view, 4> kHoldStates = {"open", "captured", "released", "expired"};
constexpr std::array<std::string_view, 4> kRoles = {"member", "operator", "issuer", "auditor"};

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_dash_place(std::size_t place) {
  return place == 8 || place == 13 || place == 18 || place == 23;
}

}  // namespace

Result<Uuid> parse_uuid(std::string_view text) {
  const auto bad = [&] {
    return fail(Code::kInvalidInput,
                "'{}' is no UUID: expected 8-4-4-4-12 hex digits, such as "
                "3f2b8c1e-9d64-4a07-8b15-6e0c9a7d2f43",
                text.substr(0, 64));
  };
  if (text.size() != 36) return bad();
  Uuid id;
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_dash_place(i)) {
      if (text[i] != '-') return bad();
      continue;
    }
    const int value = hex_value(text[i]);
    if (value < 0) return bad();
    std::uint8_t& byte = id[digits / 2];
    byte = static_cast<std::uint8_t>(digits % 2 == 0 ? value << 4 : byte | value);
    ++digits;
  }
  return id;
}

std::string to_string(const Uuid& id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (const std::uint8_t byte : id) {
    if (is_dash_place(text.size())) text.push_back('-');
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

Uuid random_uuid() {
  Uuid id;
  fill_secure(id);
  id[6] = static_cast<std::uint8_t>((id[6] & 0x0f) | 0x40);
  id[8] = static_cast<std::uint8_t>((id[8] & 0x3f) | 0x80);
  return id;
}

std::string_view to_string(OwnerType type) {
  return type == OwnerType::kUser ? "user" : "system_account";
}

std::string_view to_string(HoldState state) {
  return kHoldStates[static_cast<std::size_t>(state)];
}
Result<HoldState> parse_hold_state(std::string_view text) {
  for (std::size_t i = 0; i < kHoldStates.size(); ++i)
    if (kHoldStates[i] == text) return static_cast<HoldState>(i);
  return fail(Code::kInvalidInput, "'{}' is no state of a hold: open, captured, released, expired",
              text);
}

std::string_view to_string(Role role) {
  return kRoles[static_cast<std::size_t>(role)];
}
Result<Role> parse_role(std::string_view text) {
  for (std::size_t i = 0; i < kRoles.size(); ++i)
    if (kRoles[i] == text) return static_cast<Role>(i);
  return fail(Code::kInvalidInput, "'{}' is no role: member, operator, issuer, auditor", text);
}

}  // namespace coffer::token
