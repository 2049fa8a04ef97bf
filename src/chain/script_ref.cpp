#include "chain/script_ref.h"

#include "codec/cbor_reader.h"
#include "crypto/blake2b.h"

namespace coffer::chain {

Hash224 ScriptRef::hash() const {
  Bytes tagged = {language};
  append(tagged, script);
  return crypto::blake2b_224(tagged);
}

std::optional<ScriptRef> parse_script_ref(ByteView cbor) {
  codec::CborReader reader(cbor);
  auto pair = reader.begin_fixed(2);
  const std::uint64_t language = reader.read_uint();
  const ByteView script = language == 0 ? reader.skip() : reader.read_bytes();
  reader.end_fixed(pair);
  if (!reader.ok() || !reader.at_end() || language > 0xff) return std::nullopt;
  return ScriptRef{static_cast<std::uint8_t>(language), script};
}

}  // namespace coffer::chain
