// BLAKE2b with 32 and 28 byte digests, as Cardano uses it (ids of transactions and blocks;
// credentials).
#pragma once

#include <coffer/base/bytes.h>

namespace coffer::crypto {

// Thread-safe, cannot fail, allocate nothing.
Hash256 blake2b_256(ByteView data);
Hash224 blake2b_224(ByteView data);

// Hashes bytes that do not lie in one piece. Not thread-safe; allocates nothing; not to be copied
// or moved.
class Blake2b256 {
 public:
  Blake2b256();
  Blake2b256(const Blake2b256&) = delete;
  Blake2b256& operator=(const Blake2b256&) = delete;
  Blake2b256& update(ByteView data);
  // Once; afterwards the object is as new.
  Hash256 finish();

 private:
  void reset();
  static constexpr std::size_t kStateBytes = 384;  // libsodium's state; checked in blake2b.cpp
  alignas(64) std::uint8_t state_[kStateBytes];
};

}  // namespace coffer::crypto
