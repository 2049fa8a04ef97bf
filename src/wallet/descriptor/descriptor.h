// Output descriptors (BIP380 to BIP386, BIP389): which scripts a wallet owns.
// Supported: pk pkh wpkh combo tr(KEY) multi sortedmulti addr raw, and inside sh(), wsh() and
// sh(wsh()) what Bitcoin Core allows there of these. Not supported: script trees in tr(),
// miniscript, rawtr, musig.
// Invariant: public keys only; what parses can be written and parsed again to the same.
#pragma once

#include <string>
#include <vector>

#include <coffer/chain/network.h>
#include "wallet/descriptor/key_expression.h"

namespace coffer::wallet {

enum class DescriptorFunction : std::uint8_t {
  kPk,
  kPkh,
  kWpkh,
  kCombo,
  kTr,
  kMulti,
  kSortedMulti,
  kAddr,
  kRaw,
};
enum class DescriptorWrap : std::uint8_t { kNone, kSh, kWsh, kShWsh };

// Immutable; thread-safe.
class Descriptor {
 public:
  // What a text says once it is checked; only parse_descriptors() makes it.
  struct Parts {
    DescriptorWrap wrap = DescriptorWrap::kNone;
    DescriptorFunction function = DescriptorFunction::kRaw;
    std::size_t threshold = 0;        // of multi and sortedmulti
    std::vector<KeyExpression> keys;  // none in addr and raw
    Bytes script;                     // of addr and raw
    std::string address;              // of addr
  };
  explicit Descriptor(Parts parts) : parts_(std::move(parts)) {}

  const Parts& parts() const { return parts_; }

  // Whether each index has scripts of its own.
  bool is_ranged() const;
  // Whether it says how to spend, not only where the coins are: all but addr and raw.
  bool is_solvable() const { return !parts_.keys.empty(); }

  // The scriptPubKeys at an index, which matters only if is_ranged(): one, or for combo pk, pkh
  // and, if the key is compressed, wpkh and sh(wpkh). Cost: one key derivation (about 45 µs) a key.
  // Errors: kInvalidInput if a step is hardened or the index is not below 2^31.
  Result<std::vector<Bytes>> derive(std::uint32_t index) const;

  // As Bitcoin Core writes it, with checksum; h or ' as the text had it last in each key.
  std::string text() const { return with_checksum(std::nullopt); }
  // The same with h throughout: equal for two texts that differ in spelling only.
  std::string canonical() const { return with_checksum(HardenedMark::kH); }

 private:
  std::string with_checksum(std::optional<HardenedMark> mark) const;

  Parts parts_;
};

// A text as one descriptor for each of the alternatives in "<0;1>", most often one. A checksum is
// not needed, but checked if it is there. Thread-safe. Cost: a derivation for each step of the
// paths, times the alternatives.
// Errors: kInvalidInput with the position: what is malformed, unsupported or against a limit (3
// keys in a bare multi, 20 in others, 520 bytes in sh, 10,000 in raw), a private key, a key or
// address of another network, a wrong checksum (naming the right one); kTooLarge.
Result<std::vector<Descriptor>> parse_descriptors(const chain::Network& network,
                                                  std::string_view text);
// The same for a text that must be one; alternatives are an error.
Result<Descriptor> parse_descriptor(const chain::Network& network, std::string_view text);

}  // namespace coffer::wallet
