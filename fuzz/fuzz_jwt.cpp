// Any bytes as a bearer token, as its claims and as a provider's key set. The first byte says as
// which. Only the samples are accepted: nobody has the private keys.
#include <coffer/base/bytes.h>
#include "base/check.h"
#include "jwt_samples.h"
#include "oidc/claims.h"
#include "oidc/jwt.h"
#include "oidc/key_set.h"

namespace {

using namespace coffer;
using namespace coffer::oidc;

const Algorithms& accepted() {
  static const Algorithms algorithms = parse_algorithms({"RS256", "ES256", "ES384"}).value();
  return algorithms;
}

Result<Claims> claims_of(std::string_view text) {
  return read_claims(text, {std::string(fuzz::kIssuer), std::string(fuzz::kAudience), 60},
                     fuzz::kUnixTimeS * 1000);
}

// As Verifier::verify() does with keys that never change.
Result<Claims> verify(std::string_view text) {
  static const KeySet keys = KeySet::parse(fuzz::kKeySet, accepted()).value();
  const Jwt jwt = TRY(parse_jwt(text, accepted()));
  const PublicKey* key = keys.find(jwt.key_id, *jwt.algorithm);
  if (key == nullptr || !key->verify(text, *jwt.algorithm, jwt.signature_bytes))
    return fail(Code::kUnauthorized, "not signed");
  return claims_of(jwt.claims);
}

std::string_view signed_part(std::string_view text) {
  return text.substr(0, text.rfind('.'));
}

void check_token(std::string_view text) {
  const auto claims = verify(text);
  // A signature may have a second form (s and -s of ECDSA), what it signs has not.
  CHECK(claims.has_value() == (text == fuzz::kSignedWithEs256 || text == fuzz::kSignedWithRs256) ||
        (claims && signed_part(text) == signed_part(fuzz::kSignedWithEs256)));
  if (claims) CHECK(claims->subject == "alice");
  if (!claims) CHECK(claims.error().code == Code::kUnauthorized);
}

void check_claims(std::string_view text) {
  const auto claims = claims_of(text);
  if (!claims) {
    CHECK(claims.error().code == Code::kUnauthorized && claims.error().message.size() < 200);
    return;
  }
  CHECK(claims->issuer == fuzz::kIssuer && claims->expires_at > fuzz::kUnixTimeS - 60);
  CHECK(!claims->subject.empty() && claims->subject.size() <= kMaxSubjectBytes);
  for (const char* name : {"roles", "/realm/roles", "/", "/a~b", "sub"})
    CHECK(claims->strings(name).size() <= text.size());
}

void check_keys(std::string_view text) {
  const auto keys = KeySet::parse(text, accepted());
  if (!keys) return;
  CHECK(keys->size() + keys->ignored() <= kMaxKeys);
  for (const std::string_view sample : {fuzz::kSignedWithEs256, fuzz::kSignedWithRs256}) {
    const Jwt jwt = parse_jwt(sample, accepted()).value();
    const PublicKey* key = keys->find(jwt.key_id, *jwt.algorithm);
    if (key != nullptr) (void)key->verify(sample, *jwt.algorithm, jwt.signature_bytes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = as_text({data + 1, size - 1});
  if (data[0] % 3 == 0)
    check_token(text);
  else if (data[0] % 3 == 1)
    check_claims(text);
  else
    check_keys(text);
  return 0;
}
