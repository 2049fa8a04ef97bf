// Ed25519 signatures (RFC 8032), over libsodium: for statements that Coffer itself makes, such as
// the checkpoints of a token ledger. The one place where Coffer holds a private key.
#pragma once

#include <coffer/base/bytes.h>

namespace coffer::crypto {

using Ed25519PublicKey = FixedBytes<32, struct Ed25519PublicKeyTag>;
using Ed25519Signature = FixedBytes<64, struct Ed25519SignatureTag>;

// A private key. Wiped from memory when it goes. Thread-safe.
class Ed25519Key {
 public:
  static constexpr std::size_t kSeedBytes = 32;

  static Ed25519Key generate();  // from the system's randomness
  // Errors: kInvalidInput for another length; the message does not hold the seed.
  static Result<Ed25519Key> from_seed(ByteView seed);
  Ed25519Key(Ed25519Key&& other) noexcept;
  Ed25519Key& operator=(Ed25519Key&&) = delete;
  ~Ed25519Key();

  // The 32 bytes that the key is made of: for its file, and nothing else.
  ByteView seed() const { return ByteView(secret_).first(kSeedBytes); }
  const Ed25519PublicKey& public_key() const { return public_key_; }
  // About 20 µs.
  Ed25519Signature sign(ByteView message) const;

 private:
  Ed25519Key() = default;

  FixedBytes<64, struct Ed25519SecretTag> secret_{};  // seed and public key, as libsodium has it
  Ed25519PublicKey public_key_{};
};

// Thread-safe; about 60 µs.
bool verify_ed25519(const Ed25519PublicKey& key, ByteView message,
                    const Ed25519Signature& signature);

}  // namespace coffer::crypto
