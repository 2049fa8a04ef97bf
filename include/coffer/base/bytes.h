// Bytes, views of bytes, fixed-size hashes, hex and fixed-width integers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <coffer/base/result.h>

namespace coffer {

using Bytes = std::vector<std::uint8_t>;
using ByteView =
    std::span<const std::uint8_t>;  // never owns; whoever hands it out says how long it lives

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline bool equal(ByteView a, ByteView b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}
inline void append(Bytes& to, ByteView from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Equal in time that depends on the lengths alone: for secrets.
bool equal_constant_time(ByteView a, ByteView b);

std::string to_hex(ByteView bytes);
// Whether there is nothing but hex digits of either case in it; true for an empty text.
bool has_only_hex_digits(std::string_view text);
// Whole bytes in hex digits of either case; not empty.
bool is_hex(std::string_view text);
// Errors: kInvalidInput with the position of the first bad character.
Result<Bytes> from_hex(std::string_view hex);

// N bytes with value semantics. The tag keeps hashes of different meaning apart.
template <std::size_t N, typename Tag>
struct FixedBytes : std::array<std::uint8_t, N> {
  static constexpr std::size_t kSize = N;
  // Copies the first N bytes at `data`.
  static FixedBytes from(const std::uint8_t* data) {
    FixedBytes value;
    std::memcpy(value.data(), data, N);
    return value;
  }
  // Errors: kInvalidInput on another length.
  static Result<FixedBytes> from_view(ByteView bytes) {
    if (bytes.size() != N)
      return fail(make_error(Code::kInvalidInput, "expected " + std::to_string(N) + " bytes, got " +
                                                      std::to_string(bytes.size())));
    return from(bytes.data());
  }
  ByteView view() const { return {this->data(), N}; }
  std::string hex() const { return to_hex(view()); }
  bool is_zero() const {
    return std::all_of(this->begin(), this->end(), [](std::uint8_t b) { return b == 0; });
  }
  friend auto operator<=>(const FixedBytes&, const FixedBytes&) = default;
};

using Hash256 = FixedBytes<32, struct Hash256Tag>;
using Hash224 = FixedBytes<28, struct Hash224Tag>;

// For unordered containers: the bytes are already a hash.
struct HashOfHash {
  template <std::size_t N, typename Tag>
  std::size_t operator()(const FixedBytes<N, Tag>& value) const {
    static_assert(N >= sizeof(std::size_t));
    std::size_t word;
    std::memcpy(&word, value.data(), sizeof word);
    return word;
  }
};

// The same bytes back to front: Bitcoin prints its hashes so.
Hash256 reversed(const Hash256& hash);

template <typename T>
T load_le(const std::uint8_t* at) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline std::uint16_t load_be16(const std::uint8_t* at) {
  return __builtin_bswap16(load_le<std::uint16_t>(at));
}
inline std::uint32_t load_be32(const std::uint8_t* at) {
  return __builtin_bswap32(load_le<std::uint32_t>(at));
}
inline std::uint64_t load_be64(const std::uint8_t* at) {
  return __builtin_bswap64(load_le<std::uint64_t>(at));
}

template <typename T>
void store_le(std::uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}
inline void store_be32(std::uint8_t* at, std::uint32_t value) {
  store_le(at, __builtin_bswap32(value));
}
inline void store_be64(std::uint8_t* at, std::uint64_t value) {
  store_le(at, __builtin_bswap64(value));
}

template <typename T>
void append_le(Bytes& to, T value) {
  std::uint8_t buffer[sizeof value];
  store_le(buffer, value);
  to.insert(to.end(), buffer, buffer + sizeof value);
}
inline void append_be32(Bytes& to, std::uint32_t value) {
  append_le(to, __builtin_bswap32(value));
}
inline void append_be64(Bytes& to, std::uint64_t value) {
  append_le(to, __builtin_bswap64(value));
}

}  // namespace coffer
