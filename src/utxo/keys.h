// Keys of the utxo columns (docs/formats/utxo.md). All of fixed length for one chain, so that they
// sort: outpoints by transaction and index, index entries by owner, then slot, then outpoint.
#pragma once

#include <coffer/chain/block.h>
#include "bus/position_codec.h"
#include "crypto/blake2b.h"

namespace coffer::utxo {

inline constexpr std::size_t kOwnerBytes = Hash224::kSize;
inline constexpr std::uint32_t kMaxCardanoIndex = 0xffff;

// The index takes 2 bytes on Cardano, 4 on Bitcoin (U3).
constexpr std::size_t outpoint_bytes(chain::Family family) {
  return family == chain::Family::kCardano ? 34 : 36;
}

// Whether a key can name the output: an index beyond 65,535 would be cut to another on Cardano.
constexpr bool has_key(chain::Family family, const chain::Outpoint& outpoint) {
  return family != chain::Family::kCardano || outpoint.index <= kMaxCardanoIndex;
}

// A key on the stack.
template <std::size_t Max>
struct FixedKey {
  std::array<std::uint8_t, Max> bytes;
  std::uint8_t size = 0;
  ByteView view() const { return {bytes.data(), size}; }
};
using OutpointKey = FixedKey<36>;
using IndexKey = FixedKey<kOwnerBytes + 8 + 36>;

inline void write_outpoint(chain::Family family, const chain::Outpoint& outpoint,
                           std::uint8_t* to) {
  std::memcpy(to, outpoint.tx.data(), 32);
  if (family == chain::Family::kCardano) {
    to[32] = static_cast<std::uint8_t>(outpoint.index >> 8);
    to[33] = static_cast<std::uint8_t>(outpoint.index);
  } else {
    store_be32(to + 32, outpoint.index);
  }
}

inline OutpointKey outpoint_key(chain::Family family, const chain::Outpoint& outpoint) {
  OutpointKey key;
  write_outpoint(family, outpoint, key.bytes.data());
  key.size = static_cast<std::uint8_t>(outpoint_bytes(family));
  return key;
}

// The key must have the length of the family's outpoints.
inline chain::Outpoint read_outpoint(chain::Family family, const std::uint8_t* at) {
  return {Hash256::from(at),
          family == chain::Family::kCardano ? load_be16(at + 32) : load_be32(at + 32)};
}

// What an address is indexed by: its hash, so that all entries begin with equally many bytes.
inline Hash224 address_owner(ByteView address) {
  return crypto::blake2b_224(address);
}

inline IndexKey index_key(chain::Family family, const Hash224& owner, Slot slot,
                          const chain::Outpoint& outpoint) {
  IndexKey key;
  std::memcpy(key.bytes.data(), owner.data(), kOwnerBytes);
  store_be64(key.bytes.data() + kOwnerBytes, slot.value);
  write_outpoint(family, outpoint, key.bytes.data() + kOwnerBytes + 8);
  key.size = static_cast<std::uint8_t>(kOwnerBytes + 8 + outpoint_bytes(family));
  return key;
}

using bus::ordinal_key;

}  // namespace coffer::utxo
