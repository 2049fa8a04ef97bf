#include "crypto/ed25519.h"

#include "base/random.h"
#include "base/result.h"
#include "crypto/sodium_impl.h"

namespace coffer::crypto {

Ed25519Key Ed25519Key::generate() {
  FixedBytes<kSeedBytes, struct SeedTag> seed;
  fill_secure(seed);
  auto key = from_seed(seed.view());
  sodium_memzero(seed.data(), seed.size());
  CHECK(key);
  return *std::move(key);
}

Result<Ed25519Key> Ed25519Key::from_seed(ByteView seed) {
  if (seed.size() != kSeedBytes)
    return fail(Code::kInvalidInput, "an Ed25519 key has {} bytes, not {}", kSeedBytes,
                seed.size());
  ensure_sodium();
  Ed25519Key key;
  CHECK(crypto_sign_ed25519_seed_keypair(key.public_key_.data(), key.secret_.data(), seed.data()) ==
        0);
  return key;
}

Ed25519Key::Ed25519Key(Ed25519Key&& other) noexcept
    : secret_(other.secret_), public_key_(other.public_key_) {
  sodium_memzero(other.secret_.data(), other.secret_.size());
}

Ed25519Key::~Ed25519Key() {
  sodium_memzero(secret_.data(), secret_.size());
}

Ed25519Signature Ed25519Key::sign(ByteView message) const {
  Ed25519Signature signature;
  CHECK(crypto_sign_ed25519_detached(signature.data(), nullptr, message.data(), message.size(),
                                     secret_.data()) == 0);
  return signature;
}

bool verify_ed25519(const Ed25519PublicKey& key, ByteView message,
                    const Ed25519Signature& signature) {
  ensure_sodium();
  return crypto_sign_ed25519_verify_detached(signature.data(), message.data(), message.size(),
                                             key.data()) == 0;
}

}  // namespace coffer::crypto
