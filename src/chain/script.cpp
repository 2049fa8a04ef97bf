#include "chain/script.h"

#include <iterator>

namespace coffer::chain {
namespace {

constexpr std::uint8_t kOp0 = 0x00, kOp1 = 0x51, kOp16 = 0x60, kDup = 0x76, kEqual = 0x87,
                       kEqualVerify = 0x88, kHash160 = 0xa9, kCheckSig = 0xac,
                       kCheckMultisig = 0xae;

bool is_small_number(std::uint8_t op) {
  return op >= kOp1 && op <= kOp16;
}

// The length of a public key by its first byte; 0 for what is none.
std::size_t key_length(std::uint8_t first) {
  if (first == 2 || first == 3) return 33;
  if (first == 4 || first == 6 || first == 7) return 65;
  return 0;
}

bool is_p2pk(ByteView s) {
  if (s.size() != 35 && s.size() != 67) return false;
  return s[0] == s.size() - 2 && key_length(s[1]) == s[0] && s.back() == kCheckSig;
}

// OP_m, keys, OP_n, OP_CHECKMULTISIG
bool is_multisig(ByteView s) {
  if (s.size() < 37 || s.back() != kCheckMultisig || !is_small_number(s[0])) return false;
  std::size_t at = 1, keys = 0;
  while (at + 2 < s.size() && (s[at] == 33 || s[at] == 65)) {
    if (at + 1 >= s.size() || key_length(s[at + 1]) != s[at]) return false;
    at += 1 + s[at];
    ++keys;
  }
  if (at + 2 != s.size() || !is_small_number(s[at])) return false;
  const std::size_t needed = s[0] - kOp1 + 1u, total = s[at] - kOp1 + 1u;
  return keys == total && needed <= total;
}

}  // namespace

std::optional<WitnessProgram> witness_program(ByteView s) {
  if (s.size() < 4 || s.size() > 42 || s[1] + 2u != s.size()) return std::nullopt;
  if (s[0] == kOp0) return WitnessProgram{0, s.subspan(2)};
  if (!is_small_number(s[0])) return std::nullopt;
  return WitnessProgram{static_cast<std::uint8_t>(s[0] - kOp1 + 1), s.subspan(2)};
}

OutputType output_type(ByteView s) {
  if (is_unspendable(s)) return OutputType::kOpReturn;
  if (s.size() == 25 && s[0] == kDup && s[1] == kHash160 && s[2] == 20 && s[23] == kEqualVerify &&
      s[24] == kCheckSig)
    return OutputType::kP2pkh;
  if (s.size() == 23 && s[0] == kHash160 && s[1] == 20 && s[22] == kEqual) return OutputType::kP2sh;
  if (const auto witness = witness_program(s)) {
    const std::size_t size = witness->program.size();
    if (witness->version == 0 && size == 20) return OutputType::kP2wpkh;
    if (witness->version == 0 && size == 32) return OutputType::kP2wsh;
    if (witness->version == 1 && size == 32) return OutputType::kP2tr;
    if (witness->version == 1 && size == 2 && s[2] == 0x4e && s[3] == 0x73) return OutputType::kP2a;
    return OutputType::kOther;
  }
  if (is_p2pk(s)) return OutputType::kP2pk;
  if (is_multisig(s)) return OutputType::kMultisig;
  return OutputType::kOther;
}

std::string_view to_string(OutputType type) {
  constexpr std::string_view kNames[] = {"p2pk", "p2pkh", "p2sh",      "p2wpkh",   "p2wsh",
                                         "p2tr", "p2a",   "op_return", "multisig", "other"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(OutputType::kOther) + 1);
  return kNames[static_cast<std::size_t>(type)];
}

}  // namespace coffer::chain
