// Bitcoin's wire format: little-endian integers, compact sizes, length-prefixed bytes. Zero-copy.
// Invariant: after a fault nothing more is consumed and every answer is zero or empty.
#pragma once

#include <coffer/base/bytes.h>
#include "codec/fault.h"

namespace coffer::codec {

// Not thread-safe. No method allocates.
class WireReader {
 public:
  explicit WireReader(ByteView data) : data_(data) {}

  std::uint8_t u8() { return fixed<std::uint8_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }

  ByteView bytes(std::uint64_t count) {
    if (fault_ || count > data_.size() - at_) {
      fail_at("unexpected end", data_.size());
      return {};
    }
    ByteView view = data_.subspan(at_, count);
    at_ += count;
    return view;
  }

  // A size in its shortest form; Core refuses others too.
  std::uint64_t compact_size() {
    const std::size_t start = at_;
    const std::uint8_t first = u8();
    if (first < 0xfd) return first;
    const std::uint64_t value = first == 0xfd   ? fixed<std::uint16_t>()
                                : first == 0xfe ? fixed<std::uint32_t>()
                                                : fixed<std::uint64_t>();
    const std::uint64_t least = first == 0xfd ? 0xfd : first == 0xfe ? 0x10000 : 0x100000000;
    if (value < least) fail_at("a size that is not in its shortest form", start);
    return fault_ ? 0 : value;
  }

  // How many things of at least `bytes_each` follow; refused if the input cannot hold them.
  std::uint64_t count(std::uint64_t bytes_each, const char* what) {
    const std::size_t start = at_;
    const std::uint64_t value = compact_size();
    if (value > remaining() / bytes_each) fail_at(what, start);
    return fault_ ? 0 : value;
  }

  ByteView var_bytes() { return bytes(compact_size()); }

  std::uint8_t peek(std::size_t ahead) const {
    return at_ + ahead < data_.size() ? data_[at_ + ahead] : 0;
  }
  std::size_t offset() const { return at_; }
  std::size_t remaining() const { return data_.size() - at_; }
  ByteView since(std::size_t start) const { return data_.subspan(start, at_ - start); }
  bool at_end() const { return at_ == data_.size() || fault_; }
  bool ok() const { return !fault_; }
  const Fault& fault() const { return fault_; }
  void fail_at(const char* what, std::size_t at) {
    if (!fault_) fault_ = {what, at};
  }

 private:
  template <typename T>
  T fixed() {
    if (fault_ || data_.size() - at_ < sizeof(T)) [[unlikely]] {
      fail_at("unexpected end", data_.size());
      return 0;
    }
    T value = load_le<T>(data_.data() + at_);
    at_ += sizeof(T);
    return value;
  }

  ByteView data_;
  std::size_t at_ = 0;
  Fault fault_;
};

inline void append_compact_size(Bytes& out, std::uint64_t value) {
  if (value < 0xfd) return out.push_back(static_cast<std::uint8_t>(value));
  if (value <= 0xffff) {
    out.push_back(0xfd);
    return append_le(out, static_cast<std::uint16_t>(value));
  }
  if (value <= 0xffffffff) {
    out.push_back(0xfe);
    return append_le(out, static_cast<std::uint32_t>(value));
  }
  out.push_back(0xff);
  append_le(out, value);
}

inline void append_var_bytes(Bytes& out, ByteView bytes) {
  append_compact_size(out, bytes.size());
  append(out, bytes);
}

}  // namespace coffer::codec
