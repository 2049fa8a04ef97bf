// Public keys on secp256k1: check, compress, tweak. There is no private key in Coffer, so nothing
// here signs or needs secret-independent timing.
// Invariant: a PublicKey or XOnlyKey that one of these functions returned is a point of the curve.
#pragma once

#include <coffer/base/bytes.h>

namespace coffer::crypto {

using PublicKey = FixedBytes<33, struct PublicKeyTag>;  // compressed: 02 or 03, then x
using XOnlyKey = FixedBytes<32, struct XOnlyKeyTag>;    // BIP340: x alone, y is even

// All are thread-safe and take some microseconds. Errors: kInvalidInput, never with the key.

// A key of 33 bytes, or of 65 that begin with 04, in its compressed form. The hybrid forms 06 and
// 07 are refused: nodes do not relay them.
Result<PublicKey> parse_public_key(ByteView bytes);
Result<XOnlyKey> parse_x_only_key(ByteView bytes);

// x without the sign of y. Cannot fail.
XOnlyKey x_only(const PublicKey& key);

// key + tweak * G. An error if the tweak is not below the order of the group or the sum is
// infinity; with hashes as tweaks neither will ever be seen.
Result<PublicKey> tweak_add(const PublicKey& key, const Hash256& tweak);

// BIP341's output key for spending by key alone: no script tree is committed to.
Result<XOnlyKey> taproot_output_key(const XOnlyKey& internal);

}  // namespace coffer::crypto
