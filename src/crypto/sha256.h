// SHA-256, once and twice, as Bitcoin uses it.
// Invariant: every implementation gives the same digest for the same bytes; which one runs is a
// matter of speed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <coffer/base/bytes.h>

namespace coffer::crypto {

// One pass, or the digest of the digest. Thread-safe, cannot fail, allocates nothing.
Hash256 sha256(ByteView data);
Hash256 sha256d(ByteView data);

// Hashes bytes that do not lie in one piece. Not thread-safe; allocates nothing.
class Sha256 {
 public:
  Sha256();
  Sha256& update(ByteView data);
  // Either of these once; afterwards the object is as new.
  Hash256 finish();
  Hash256 finish_double();

 private:
  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> buffer_;
  std::uint64_t length_ = 0;  // bytes taken so far; the last length_ % 64 of them wait in buffer_
};

// One merkle level: out[32 * i …] = sha256d(in[64 * i … 64 * i + 63]). `out` may be `in` itself;
// any other overlap is not allowed. Thread-safe, cannot fail.
void sha256d_pairs(std::uint8_t* out, const std::uint8_t* in, std::size_t pairs);

enum class Sha256Impl : std::uint8_t { kPortable, kShaNi };

// Whether this processor can run it. Thread-safe.
bool sha256_available(Sha256Impl impl);
// For tests and benchmarks: use this one from now on; nothing means the fastest again. The one
// asked for must be available. Thread-safe; a hash under way ends with either.
void sha256_force(std::optional<Sha256Impl> impl);
// The name of the one in use: "portable" or "sha-ni".
std::string_view sha256_active();

}  // namespace coffer::crypto
