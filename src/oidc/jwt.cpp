#include "oidc/jwt.h"

#include <algorithm>

#include "http/message.h"
#include "json/reader.h"
#include "oidc/base64url.h"
#include "oidc/key_set.h"

namespace coffer::oidc {
namespace {

constexpr json::Limits kHeaderLimits = {.max_bytes = 4096, .max_depth = 4};

std::unexpected<Error> malformed() {
  return fail(Code::kUnauthorized, "the bearer token is not a signed JWT; sign in again");
}

// A JWT of another kind (a logout notice, a proof of possession) must not pass as an access token,
// though the same provider signed it (RFC 8725 §3.11).
bool is_type_of_access_token(std::string_view type) {
  constexpr std::string_view kMediaType = "application/";
  if (type.size() > kMediaType.size() &&
      http::equal_ignoring_case(type.substr(0, kMediaType.size()), kMediaType))
    type.remove_prefix(kMediaType.size());
  return http::equal_ignoring_case(type, "at+jwt") || http::equal_ignoring_case(type, "jwt");
}

Result<> read_header(Jwt& jwt, std::string_view text, const Algorithms& accepted) {
  const auto header = json::parse(text, kHeaderLimits);
  if (!header || !header->is_object()) return malformed();
  const auto algorithm = header->find("alg");
  const auto name = algorithm ? algorithm->string() : std::nullopt;
  if (!name) return malformed();
  jwt.algorithm = find_algorithm(*name, accepted);
  if (jwt.algorithm == nullptr)
    return fail(Code::kUnauthorized,
                "the bearer token is not signed with an accepted algorithm; accepted are {}",
                names_of(accepted));
  // An extension that must be understood (RFC 7515 §4.1.11). None is.
  if (header->find("crit"))
    return fail(Code::kUnauthorized, "the bearer token needs an extension that is not supported");
  if (const auto type = header->find("typ")) {
    const auto type_name = type->string();
    if (!type_name || !is_type_of_access_token(*type_name))
      return fail(Code::kUnauthorized, "the JWT is not an access token");
  }
  if (const auto id = header->find("kid")) {
    jwt.key_id = id->string();
    if (!jwt.key_id || jwt.key_id->size() > kMaxKeyIdBytes) return malformed();
  }
  return {};
}

}  // namespace

Result<Jwt> parse_jwt(std::string_view text, const Algorithms& accepted) {
  if (text.size() > kMaxJwtBytes)
    return fail(Code::kUnauthorized, "the bearer token has {} bytes, at most {} are read",
                text.size(), kMaxJwtBytes);
  const std::size_t first = text.find('.');
  const std::size_t second = first == text.npos ? first : text.find('.', first + 1);
  if (second == text.npos) return malformed();
  const auto header = decode_base64url(text.substr(0, first));
  const auto claims = decode_base64url(text.substr(first + 1, second - first - 1));
  const auto signature = decode_base64url(text.substr(second + 1));  // refuses a third dot
  if (!header || !claims || !signature) return malformed();
  Jwt jwt;
  TRY(read_header(jwt, as_text(*header), accepted));
  jwt.signature_bytes = signature->size();
  jwt.claims = as_text(*claims);
  return jwt;
}

}  // namespace coffer::oidc
