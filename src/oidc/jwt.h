// The form of a bearer token: a signed JWT in compact serialization (RFC 7515, 7519). Nothing of it
// is true before its signature is checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "oidc/algorithm.h"

namespace coffer::oidc {

inline constexpr std::size_t kMaxJwtBytes = 16u << 10;

struct Jwt {
  const Algorithm* algorithm = nullptr;  // an accepted one
  std::optional<std::string> key_id;
  std::size_t signature_bytes = 0;
  std::string claims;  // not parsed yet
};

// Reads all but the claims. Bounded: kMaxJwtBytes, and the depth of the header. Thread-safe.
// Errors: kUnauthorized; no message repeats any of the text.
Result<Jwt> parse_jwt(std::string_view text, const Algorithms& accepted);

}  // namespace coffer::oidc
