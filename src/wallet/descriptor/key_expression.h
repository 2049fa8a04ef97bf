// A key in an output descriptor: where it comes from, a public key or an extended one, and the
// path from there to the keys that scripts use (BIP380, BIP389).
// Invariant: public keys only, and each is a point of the curve.
#pragma once

#include <optional>

#include "crypto/bip32.h"
#include "wallet/descriptor/descriptor_text.h"

namespace coffer::wallet {

// "[d34db33f/84h/0h/0h]": the master key's fingerprint and the path from it to the key that
// follows.
struct KeyOrigin {
  crypto::Fingerprint fingerprint{};
  std::vector<std::uint32_t> path;
  friend bool operator==(const KeyOrigin&, const KeyOrigin&) = default;
};

enum class Wildcard : std::uint8_t { kNone, kPlain, kHardened };  // none, "/*", "/*h"
enum class HardenedMark : std::uint8_t { kH, kApostrophe };       // "44h" or "44'"

class KeyExpression {
 public:
  bool is_ranged() const { return wildcard_ != Wildcard::kNone; }
  const std::optional<KeyOrigin>& origin() const { return origin_; }
  // Nothing for a plain key.
  const std::optional<crypto::ExtendedPublicKey>& extended() const { return root_; }
  const std::vector<std::uint32_t>& path() const { return path_; }
  Wildcard wildcard() const { return wildcard_; }

  // The length of derive()'s answer, known beforehand: 33, 65, or 32 where keys are x-only.
  std::size_t key_bytes() const { return root_ ? crypto::PublicKey::kSize : plain_.size(); }

  // The key at an index, which matters only if is_ranged(). Thread-safe. Cost: one derivation
  // (about 45 µs); the path before the wildcard was walked when the text was read. Errors:
  // kInvalidInput if a step is hardened or the index is not below 2^31.
  Result<Bytes> derive(std::uint32_t index) const;

  // The mark that the text used last, for all steps; or the one asked for. Thread-safe.
  std::string text(std::optional<HardenedMark> mark = std::nullopt) const;

 private:
  friend class KeyParser;
  std::optional<KeyOrigin> origin_;
  Bytes plain_;  // empty if there is a root
  std::optional<crypto::ExtendedPublicKey> root_;
  std::vector<std::uint32_t> path_;
  Wildcard wildcard_ = Wildcard::kNone;
  HardenedMark mark_ = HardenedMark::kH;
  // The root at the end of the path; nothing if a step of it is hardened.
  std::optional<crypto::ExtendedPublicKey> base_;
};

// What the place in the descriptor allows.
struct KeyRules {
  std::uint32_t xpub_version = 0;  // of the network
  std::string_view network;        // its name, for errors
  bool uncompressed = false;       // 65-byte keys may stand here
  bool x_only = false;             // keys are x-only here, and may be written so
  std::size_t branch = 0;          // which of the alternatives in "<0;1>" to take
};

// Each step costs a derivation, for every key and alternative. In use are up to six.
inline constexpr std::size_t kMaxPathSteps = 32;
inline constexpr std::size_t kMaxBranches = 16;

struct ParsedKey {
  KeyExpression key;
  std::size_t branches = 1;  // how many alternatives "<0;1>" had; 1 without one
};

// Thread-safe. Cost: a derivation for each step. Errors: kInvalidInput with the position in the
// descriptor, never with the key.
Result<ParsedKey> parse_key_expression(Piece text, const KeyRules& rules);

}  // namespace coffer::wallet
