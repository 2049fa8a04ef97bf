// base64url without padding (RFC 4648 §5, RFC 7515 §2).
// Invariant: one text for the same bytes. Padding, blanks, other alphabets and unused bits that are
// set are refused, so that a signed text cannot be written in two ways.
#pragma once

#include <optional>
#include <string_view>

#include <coffer/base/bytes.h>

namespace coffer::oidc {

// Nothing if it is not canonical. Thread-safe.
std::optional<Bytes> decode_base64url(std::string_view text);

}  // namespace coffer::oidc
