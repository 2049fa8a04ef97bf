// The signature algorithms of RFC 7518 that may be accepted: asymmetric ones only. HS* and "none"
// are not in the table, so no setting and no bearer token can select them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coffer::oidc {

enum class KeyType : std::uint8_t { kRsa, kEc };

struct Algorithm {
  std::string_view name;
  KeyType key_type;
  std::string_view curve;        // empty for RSA
  std::size_t coordinate_bytes;  // of a point on the curve; 0 for RSA

  // The length of every signature made with a key of this size.
  std::size_t signature_bytes(std::size_t modulus_bytes) const {
    return key_type == KeyType::kRsa ? modulus_bytes : 2 * coordinate_bytes;
  }
};

// Elements of the table: compared by address.
using Algorithms = std::vector<const Algorithm*>;

std::span<const Algorithm> known_algorithms();

// Nothing if it is unknown or not among `accepted`.
const Algorithm* find_algorithm(std::string_view name, const Algorithms& accepted);

// Errors: kUsage: none, an unknown one or one that is there twice.
Result<Algorithms> parse_algorithms(const std::vector<std::string>& names);

// "RS256, ES256"
std::string names_of(const Algorithms& algorithms);

}  // namespace coffer::oidc
