#include "token/details.h"

#include "base/random.h"
#include "crypto/blake2b.h"

namespace coffer::token {

Hash256 hash_detail(const DetailSalt& salt, std::string_view text) {
  crypto::Blake2b256 hash;
  return hash.update(salt.view()).update(as_bytes(text)).finish();
}

SealedDetail seal_detail(std::string_view text) {
  SealedDetail sealed;
  fill_secure(sealed.salt);
  sealed.hash = hash_detail(sealed.salt, text);
  return sealed;
}

}  // namespace coffer::token
