#include "feed/cbor_boundary.h"

#include <limits>

namespace coffer::feed {
namespace {

constexpr std::uint8_t kBytes = 2, kText = 3, kArray = 4, kMap = 5, kTag = 6, kSimple = 7;
constexpr std::uint8_t kOneByte = 24, kEightBytes = 27, kOpen = 31;

}  // namespace

std::size_t CborBoundary::feed(ByteView more) {
  std::size_t at = 0;
  while (at < more.size() && !done_ && fault_ == nullptr) {
    if (skip_ > 0) {
      const std::uint64_t part = std::min<std::uint64_t>(skip_, more.size() - at);
      skip_ -= part;
      at += part;
      if (skip_ == 0) end_item();
    } else {
      take_head_byte(more[at++]);
    }
  }
  return at;
}

void CborBoundary::take_head_byte(std::uint8_t byte) {
  if (head_bytes_left_ < 0) {
    const std::uint8_t info = byte & 31;
    first_ = byte;
    value_ = info < kOneByte ? info : 0;
    head_bytes_left_ = info >= kOneByte && info <= kEightBytes ? 1 << (info - kOneByte) : 0;
    if (info > kEightBytes && info < kOpen) return fail_with("a reserved length");
  } else {
    value_ = value_ << 8 | byte;
    --head_bytes_left_;
  }
  if (head_bytes_left_ > 0) return;
  head_bytes_left_ = -1;
  begin_item();
}

void CborBoundary::begin_item() {
  const auto major = static_cast<std::uint8_t>(first_ >> 5);
  const bool open = (first_ & 31) == kOpen;
  if (major == kSimple && open) return close_open();
  const Frame around = depth_ == 0 ? Frame::kCounted : top().frame;
  const bool in_string = around == Frame::kOpenBytes || around == Frame::kOpenText;
  if (in_string && (open || major != (around == Frame::kOpenBytes ? kBytes : kText)))
    return fail_with("a part of a string that is none");
  switch (major) {
    case kBytes:
    case kText: return begin_string(major, open);
    case kArray:
    case kMap: return begin_list(major, open);
    case kTag: return open ? fail_with("a tag without a number") : push(Frame::kCounted, 1);
    default: return open ? fail_with("a number without a value") : end_item();
  }
}

void CborBoundary::begin_string(std::uint8_t major, bool open) {
  if (open) return push(major == kBytes ? Frame::kOpenBytes : Frame::kOpenText, 0);
  skip_ = value_;
  if (skip_ == 0) end_item();
}

void CborBoundary::begin_list(std::uint8_t major, bool open) {
  if (open) return push(major == kArray ? Frame::kOpenArray : Frame::kOpenMap, 0);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t items = major == kArray ? value_ : value_ > kMost / 2 ? kMost : 2 * value_;
  if (items == 0) return end_item();
  push(Frame::kCounted, items);
}

void CborBoundary::close_open() {
  if (depth_ == 0 || top().frame == Frame::kCounted) return fail_with("an end without a beginning");
  if (top().frame == Frame::kOpenMap && top().items % 2 != 0)
    return fail_with("a key without a value");
  --depth_;
  end_item();
}

void CborBoundary::end_item() {
  while (depth_ > 0) {
    if (top().frame != Frame::kCounted) {
      ++top().items;
      return;
    }
    if (--top().items > 0) return;
    --depth_;
  }
  done_ = true;
}

void CborBoundary::push(Frame frame, std::uint64_t items) {
  if (depth_ == kMaxDepth) return fail_with("nested too deeply");
  levels_[depth_++] = {frame, items};
}

}  // namespace coffer::feed
