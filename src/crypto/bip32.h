// BIP32 for watchers: extended public keys as text, and the keys that derive from them without any
// secret. Private keys are refused wherever they turn up, and no error repeats them.
#pragma once

#include <span>

#include "crypto/hash160.h"
#include "crypto/secp.h"

namespace coffer::crypto {

inline constexpr std::uint32_t kXpubVersion = 0x0488b21e;
inline constexpr std::uint32_t kTpubVersion = 0x043587cf;
// A step of a path with this bit needs the private key.
inline constexpr std::uint32_t kHardened = 0x80000000;

using Fingerprint = FixedBytes<4, struct FingerprintTag>;

struct ExtendedPublicKey {
  std::uint32_t version = kXpubVersion;
  std::uint8_t depth = 0;
  Fingerprint parent{};     // of the parent's key; zero at depth 0
  std::uint32_t child = 0;  // the last step from the parent
  Hash256 chain_code{};
  PublicKey key{};

  // All are thread-safe. Errors of all: kInvalidInput, never with the key.

  // xpub… or tpub…. Also refused: private keys, the prefixes of SLIP-132 (ypub, zpub, …), points
  // off the curve, a parent at depth 0. Cost: some microseconds.
  static Result<ExtendedPublicKey> parse(std::string_view text);
  std::string text() const;

  // Of this key: what its children name as parent, and a descriptor's key origin.
  Fingerprint fingerprint() const;

  // One step: an HMAC and a multiplication, about 45 µs. Refused: a hardened step, a depth above
  // 255.
  Result<ExtendedPublicKey> derive(std::uint32_t step) const;
  // Step by step; the key itself for an empty path.
  Result<ExtendedPublicKey> derive(std::span<const std::uint32_t> path) const;

  friend bool operator==(const ExtendedPublicKey&, const ExtendedPublicKey&) = default;
};

// Whether a text is, or by its looks was meant to be, a private key: xprv, tprv and their kin, or
// a WIF, even with a typing error. Thread-safe, never fails.
bool is_private_key(std::string_view text);
// The answer to one: kInvalidInput.
std::unexpected<Error> refuse_private_key();

}  // namespace coffer::crypto
