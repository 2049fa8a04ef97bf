// What kind of output a Bitcoin script makes. Zero-copy; no script is run.
#pragma once

#include <optional>
#include <string_view>

#include <coffer/base/bytes.h>

namespace coffer::chain {

enum class OutputType : std::uint8_t {
  kP2pk,
  kP2pkh,
  kP2sh,
  kP2wpkh,
  kP2wsh,
  kP2tr,
  kP2a,
  kOpReturn,
  kMultisig,
  kOther,
};

// Thread-safe; constant time but for multisig, which is linear in its keys.
OutputType output_type(ByteView script);
std::string_view to_string(OutputType type);  // "p2wpkh"

// The version and program of a segwit output of any version.
struct WitnessProgram {
  std::uint8_t version = 0;
  ByteView program;
};
std::optional<WitnessProgram> witness_program(ByteView script);

// Nobody can ever spend it (U4).
inline bool is_unspendable(ByteView script) {
  return !script.empty() && script[0] == 0x6a;
}

}  // namespace coffer::chain
