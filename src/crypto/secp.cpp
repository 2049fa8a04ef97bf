#include "crypto/secp.h"

#include <secp256k1.h>
#include <secp256k1_extrakeys.h>

#include "base/check.h"
#include "base/result.h"

namespace coffer::crypto {
namespace {

// The library's constant context can do all that needs no secret.
const secp256k1_context* context() {
  return secp256k1_context_static;
}

PublicKey serialize(const secp256k1_pubkey& point) {
  PublicKey key;
  std::size_t size = key.size();
  CHECK(secp256k1_ec_pubkey_serialize(context(), key.data(), &size, &point,
                                      SECP256K1_EC_COMPRESSED) == 1);
  CHECK(size == PublicKey::kSize);
  return key;
}

Result<secp256k1_pubkey> point_of(ByteView bytes) {
  const bool compressed = bytes.size() == 33 && (bytes[0] == 2 || bytes[0] == 3);
  const bool whole = bytes.size() == 65 && bytes[0] == 4;
  if (!compressed && !whole)
    return fail(Code::kInvalidInput,
                "a public key has 33 bytes beginning with 02 or 03, or 65 beginning with 04");
  secp256k1_pubkey point;
  if (secp256k1_ec_pubkey_parse(context(), &point, bytes.data(), bytes.size()) != 1)
    return fail(Code::kInvalidInput, "the public key is no point of secp256k1");
  return point;
}

Result<secp256k1_xonly_pubkey> x_only_point_of(ByteView bytes) {
  if (bytes.size() != XOnlyKey::kSize)
    return fail(Code::kInvalidInput, "an x-only public key has 32 bytes, not {}", bytes.size());
  secp256k1_xonly_pubkey point;
  if (secp256k1_xonly_pubkey_parse(context(), &point, bytes.data()) != 1)
    return fail(Code::kInvalidInput, "the x-only public key is no point of secp256k1");
  return point;
}

}  // namespace

Result<PublicKey> parse_public_key(ByteView bytes) {
  return serialize(TRY(point_of(bytes)));
}

Result<XOnlyKey> parse_x_only_key(ByteView bytes) {
  TRY(x_only_point_of(bytes));
  return XOnlyKey::from_view(bytes);
}

XOnlyKey x_only(const PublicKey& key) {
  return XOnlyKey::from(key.data() + 1);
}

Result<PublicKey> tweak_add(const PublicKey& key, const Hash256& tweak) {
  secp256k1_pubkey point = TRY(point_of(key.view()));
  if (secp256k1_ec_pubkey_tweak_add(context(), &point, tweak.data()) != 1)
    return fail(Code::kInvalidInput, "the tweak leads to no key");
  return serialize(point);
}

Result<XOnlyKey> taproot_output_key(const XOnlyKey& internal) {
  constexpr std::string_view kTag = "TapTweak";
  const secp256k1_xonly_pubkey point = TRY(x_only_point_of(internal.view()));
  Hash256 tweak;
  CHECK(secp256k1_tagged_sha256(context(), tweak.data(), as_bytes(kTag).data(), kTag.size(),
                                internal.data(), internal.size()) == 1);
  secp256k1_pubkey tweaked;
  if (secp256k1_xonly_pubkey_tweak_add(context(), &tweaked, &point, tweak.data()) != 1)
    return fail(Code::kInvalidInput, "the tweak leads to no key");
  return x_only(serialize(tweaked));
}

}  // namespace coffer::crypto
