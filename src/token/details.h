// Memo and metadata of a transaction as the log sees them: a leaf holds hashes of salted texts, so
// that a text can be erased and cannot be guessed from its hash (T12).
#pragma once

#include <string_view>

#include <coffer/base/bytes.h>

namespace coffer::token {

using DetailSalt = FixedBytes<16, struct DetailSaltTag>;

// BLAKE2b-256 of the salt followed by the text in UTF-8, as it is stored: docs/formats/token.md.
// Thread-safe.
Hash256 hash_detail(const DetailSalt& salt, std::string_view text);

struct SealedDetail {
  DetailSalt salt{};
  Hash256 hash{};
};
// With a new salt of the system's randomness. Thread-safe.
SealedDetail seal_detail(std::string_view text);

}  // namespace coffer::token
