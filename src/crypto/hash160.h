// RIPEMD-160 of SHA-256, as in Bitcoin's short addresses.
#pragma once

#include <coffer/base/bytes.h>

namespace coffer::crypto {

using Hash160 = FixedBytes<20, struct Hash160Tag>;

// Thread-safe, cannot fail.
Hash160 hash160(ByteView data);

}  // namespace coffer::crypto
