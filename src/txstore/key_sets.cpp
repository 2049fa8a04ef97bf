#include "txstore/key_sets.h"

#include "crypto/sha256.h"

namespace coffer::txstore {
namespace {

// Bytes of the hash: two for the part, sixteen for the sum.
std::uint32_t part_in(const Hash256& hash) {
  return (static_cast<std::uint32_t>(hash[0]) << 8 | hash[1]) % KeySets::kParts;
}

}  // namespace

std::uint32_t KeySets::part_of(ByteView key) {
  return part_in(crypto::sha256(key));
}

void KeySets::add(ByteView key, bool expected) {
  const Hash256 hash = crypto::sha256(key);
  const U128 value =
      static_cast<U128>(load_be64(hash.data() + 8)) << 64 | load_be64(hash.data() + 16);
  U128& difference = differences_[part_in(hash)];
  difference += expected ? value : U128{0} - value;
}

std::optional<std::uint32_t> KeySets::differing_part() const {
  for (std::uint32_t part = 0; part < kParts; ++part)
    if (differences_[part] != 0) return part;
  return std::nullopt;
}

}  // namespace coffer::txstore
