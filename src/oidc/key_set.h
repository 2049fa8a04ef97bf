// A provider's public keys (JWK set, RFC 7517) and the check of a signature with one of them. The
// one place that uses libcjose.
// Invariant: a key is used with one algorithm family only, that of its own type, curve, `use` and
// `alg`; never as a shared secret.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oidc/algorithm.h"

namespace coffer::oidc {

inline constexpr std::size_t kMaxKeySetBytes = 1u << 20;
inline constexpr std::size_t kMaxKeys = 100;
inline constexpr std::size_t kMinRsaBits = 2048;
inline constexpr std::size_t kMaxRsaBits = 8192;
inline constexpr std::size_t kMaxKeyIdBytes = 256;

// Thread-safe once it is made.
class PublicKey {
 public:
  const std::optional<std::string>& id() const { return id_; }
  bool fits(const Algorithm& algorithm) const;
  // Whether the signature of a compact JWS (RFC 7515) is by this key. The caller has parsed the
  // text: its header names `algorithm`, and its signature has so many bytes.
  bool verify(std::string_view jws, const Algorithm& algorithm, std::size_t signature_bytes) const;

 private:
  friend class KeyReader;

  std::optional<std::string> id_;
  KeyType type_ = KeyType::kRsa;
  std::string curve_;
  std::optional<std::string> algorithm_;  // the only one, if the provider says so
  std::size_t modulus_bytes_ = 0;         // RSA
  std::shared_ptr<void> key_;             // libcjose's
};

// Never changes. Thread-safe.
class KeySet {
 public:
  // Takes the keys that can be used with an accepted algorithm; others are counted as ignored: of
  // another type, for encryption, too short, damaged, or with a private part. Errors: kCorrupt: no
  // key set; kTooLarge.
  static Result<KeySet> parse(std::string_view text, const Algorithms& accepted);

  // The key with this id; without one the only key that fits the algorithm. Null if there is none.
  const PublicKey* find(const std::optional<std::string>& id, const Algorithm& algorithm) const;
  // Whether a key with this id is in the set, for whatever algorithm.
  bool has(std::string_view id) const;

  std::size_t size() const { return keys_.size(); }
  std::size_t ignored() const { return ignored_; }

 private:
  std::vector<PublicKey> keys_;
  std::size_t ignored_ = 0;
};

}  // namespace coffer::oidc
