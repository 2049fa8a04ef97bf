// What a bearer token says about its holder, and whether it says it to us and now.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace coffer::oidc {

inline constexpr std::size_t kMaxSubjectBytes = 255;  // OpenID Connect Core §2

struct Claims {
  std::string issuer;
  std::string subject;                    // unique at the issuer; no control characters
  std::int64_t expires_at = 0;            // seconds since 1970
  std::optional<std::int64_t> issued_at;  // seconds since 1970
  json::Value all;                        // an object

  // By the name of a claim, or for one within another by a JSON pointer: "/realm_access/roles".
  // Nothing if it is absent or no string.
  std::optional<std::string> find_string(std::string_view name) const;
  // The strings of a list; a single string is a list of one. Empty if it is absent, something else,
  // or a list with anything but strings.
  std::vector<std::string> strings(std::string_view name) const;
};

struct ExpectedClaims {
  std::string issuer;
  std::string audience;
  std::int64_t leeway_s = 0;
};

// Checks the claims of a JWT whose signature was checked. Thread-safe. Errors: kUnauthorized; no
// message repeats any of the text.
Result<Claims> read_claims(std::string_view text, const ExpectedClaims& expected,
                           std::int64_t unix_ms);

}  // namespace coffer::oidc
