// libsodium does the work: OpenSSL 3.0 ignores the digest length that is asked of it.
#include "crypto/blake2b.h"

#include <sodium.h>

#include "base/check.h"
#include "crypto/sodium_impl.h"

namespace coffer::crypto {
namespace {

template <typename Hash>
Hash hash(ByteView data) {
  ensure_sodium();
  Hash digest;
  CHECK(crypto_generichash_blake2b(digest.data(), digest.size(), data.data(), data.size(), nullptr,
                                   0) == 0);
  return digest;
}

crypto_generichash_blake2b_state* state_at(std::uint8_t* bytes) {
  return reinterpret_cast<crypto_generichash_blake2b_state*>(bytes);
}

}  // namespace

Hash256 blake2b_256(ByteView data) {
  return hash<Hash256>(data);
}
Hash224 blake2b_224(ByteView data) {
  return hash<Hash224>(data);
}

Blake2b256::Blake2b256() {
  static_assert(sizeof(crypto_generichash_blake2b_state) <= kStateBytes);
  static_assert(alignof(crypto_generichash_blake2b_state) <= alignof(Blake2b256));
  ensure_sodium();
  reset();
}

void Blake2b256::reset() {
  CHECK(crypto_generichash_blake2b_init(state_at(state_), nullptr, 0, Hash256::kSize) == 0);
}

Blake2b256& Blake2b256::update(ByteView data) {
  CHECK(crypto_generichash_blake2b_update(state_at(state_), data.data(), data.size()) == 0);
  return *this;
}

Hash256 Blake2b256::finish() {
  Hash256 digest;
  CHECK(crypto_generichash_blake2b_final(state_at(state_), digest.data(), digest.size()) == 0);
  reset();
  return digest;
}

}  // namespace coffer::crypto
