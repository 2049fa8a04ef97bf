// Writes CBOR with shortest heads and definite lengths. Map keys must be given in ascending order
// of their encodings for the result to be canonical; is_canonical_cbor() checks it in tests.
#pragma once

#include <coffer/base/bytes.h>

namespace coffer::codec {

// Appends to a buffer it does not own. Not thread-safe.
class CborWriter {
 public:
  explicit CborWriter(Bytes& out) : out_(out) {}

  CborWriter& uint(std::uint64_t value) { return head(0, value); }
  CborWriter& integer(std::int64_t value) {
    return value >= 0 ? head(0, static_cast<std::uint64_t>(value))
                      : head(1, static_cast<std::uint64_t>(-1 - value));
  }
  CborWriter& bytes(ByteView value) { return head(2, value.size()).raw(value); }
  CborWriter& text(std::string_view value) { return head(3, value.size()).raw(as_bytes(value)); }
  CborWriter& array(std::uint64_t count) { return head(4, count); }
  CborWriter& map(std::uint64_t pairs) { return head(5, pairs); }
  CborWriter& tag(std::uint64_t value) { return head(6, value); }
  CborWriter& boolean(bool value) { return byte(value ? 0xf5 : 0xf4); }
  CborWriter& null() { return byte(0xf6); }
  // For test chains only: real ones contain these forms.
  CborWriter& begin_indefinite_array() { return byte(0x9f); }
  CborWriter& begin_indefinite_map() { return byte(0xbf); }
  CborWriter& end_indefinite() { return byte(0xff); }
  CborWriter& raw(ByteView encoded) {
    append(out_, encoded);
    return *this;
  }

 private:
  CborWriter& byte(std::uint8_t value) {
    out_.push_back(value);
    return *this;
  }
  CborWriter& head(std::uint8_t major, std::uint64_t value) {
    const auto top = static_cast<std::uint8_t>(major << 5);
    if (value < 24) return byte(static_cast<std::uint8_t>(top | value));
    std::uint8_t wide[8];
    store_be64(wide, value);
    const int width = value <= 0xff ? 1 : value <= 0xffff ? 2 : value <= 0xffffffff ? 4 : 8;
    const int code = width == 1 ? 24 : width == 2 ? 25 : width == 4 ? 26 : 27;
    byte(static_cast<std::uint8_t>(top | code));
    out_.insert(out_.end(), wide + 8 - width, wide + 8);
    return *this;
  }

  Bytes& out_;
};

}  // namespace coffer::codec
