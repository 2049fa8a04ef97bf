#include "crypto/hash160.h"

#include <openssl/evp.h>

#include "base/check.h"
#include "crypto/sha256.h"

namespace coffer::crypto {

Hash160 hash160(ByteView data) {
  const Hash256 inner = sha256(data);
  Hash160 out;
  unsigned length = 0;
  CHECK(EVP_Digest(inner.data(), inner.size(), out.data(), &length, EVP_ripemd160(), nullptr) == 1);
  CHECK(length == Hash160::kSize);
  return out;
}

}  // namespace coffer::crypto
