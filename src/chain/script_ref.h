// A Cardano reference script: CBOR [language, script], as an output carries it. Language 0 is a
// native script, which is CBOR itself; the others are Plutus versions, whose scripts are bytes.
#pragma once

#include <optional>

#include <coffer/base/bytes.h>

namespace coffer::chain {

struct ScriptRef {
  std::uint8_t language = 0;
  ByteView script;  // a native script's CBOR, or a Plutus script's bytes

  // Covers the language and the script.
  Hash224 hash() const;
};

// Nothing if the bytes are anything else. Thread-safe; does not allocate for scripts that a chain
// holds, and never recurses.
std::optional<ScriptRef> parse_script_ref(ByteView cbor);

}  // namespace coffer::chain
