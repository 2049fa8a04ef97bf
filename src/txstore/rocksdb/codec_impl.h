// What the files of the codec share.
#pragma once

#include "base/check.h"
#include "codec/wire.h"
#include "txstore/rocksdb/codec.h"

namespace coffer::txstore {

using codec::WireReader;

inline constexpr std::size_t kOutpointBytes = 36;

// Writes into memory that is known to suffice.
class ByteWriter {
 public:
  ByteWriter(Bytes& buffer, std::size_t most) : buffer_(buffer) {
    if (buffer_.size() < most) buffer_.resize(most);
    at_ = buffer_.data();
  }
  void u8(std::uint8_t value) { *at_++ = value; }
  template <typename T>
  void fixed(T value) {
    store_le(at_, value);
    at_ += sizeof value;
  }
  void bytes(ByteView view) {
    if (!view.empty()) std::memcpy(at_, view.data(), view.size());
    at_ += view.size();
  }
  void compact(std::uint64_t value) {  // as codec::append_compact_size
    if (value < 0xfd) return u8(static_cast<std::uint8_t>(value));
    if (value <= 0xffff) {
      u8(0xfd);
      return fixed(static_cast<std::uint16_t>(value));
    }
    if (value <= 0xffffffff) {
      u8(0xfe);
      return fixed(static_cast<std::uint32_t>(value));
    }
    u8(0xff);
    fixed(value);
  }
  ByteView view() const {
    const auto used = static_cast<std::size_t>(at_ - buffer_.data());
    CHECK(used <= buffer_.size());
    return {buffer_.data(), used};
  }

 private:
  Bytes& buffer_;
  std::uint8_t* at_ = nullptr;
};

inline bool read_format(WireReader& in) {
  return in.u8() == kRecordFormat;
}

inline bool is_complete(const WireReader& in) {
  return in.ok() && in.at_end();
}

// A flag takes a whole byte, 0 or 1.
inline bool read_flag(WireReader& in) {
  const std::uint8_t flag = in.u8();
  if (flag > 1) in.fail_at("a flag that is neither 0 nor 1", in.offset());
  return flag == 1;
}

inline chain::Outpoint read_outpoint_at(const std::uint8_t* at) {
  return {Hash256::from(at), load_le<std::uint32_t>(at + 32)};
}

}  // namespace coffer::txstore
