// Finds where a CBOR item ends while its bytes arrive in pieces. Each byte is looked at once, so
// that the work is in proportion to what was received, however it was cut. Pure.
#pragma once

#include <array>

#include <coffer/base/bytes.h>

namespace coffer::feed {

// Not thread-safe. It knows the shape of items only: what is within them is for a CborReader.
class CborBoundary {
 public:
  // Levels of arrays, maps, tags and strings in parts. The messages that it is for have five.
  static constexpr std::size_t kMaxDepth = 64;

  // Goes on with the bytes that follow those seen before, and returns how many of them belong to
  // the item: all, unless it is done() or has a fault() then.
  std::size_t feed(ByteView more);
  bool done() const { return done_; }
  // What is wrong for good; nullptr if nothing is.
  const char* fault() const { return fault_; }
  // Begins with the next item.
  void reset() { *this = CborBoundary(); }

 private:
  enum class Frame : std::uint8_t { kCounted, kOpenArray, kOpenMap, kOpenBytes, kOpenText };
  struct Level {
    Frame frame = Frame::kCounted;
    std::uint64_t items = 0;  // that are missing, or of an open one that came
  };
  void take_head_byte(std::uint8_t byte);
  void begin_item();
  void begin_string(std::uint8_t major, bool open);
  void begin_list(std::uint8_t major, bool open);
  void close_open();
  void end_item();
  void push(Frame frame, std::uint64_t items);
  void fail_with(const char* what) { fault_ = what; }
  Level& top() { return levels_[depth_ - 1]; }

  std::array<Level, kMaxDepth> levels_{};
  std::size_t depth_ = 0;
  std::uint64_t skip_ = 0;    // bytes of a string that are still to come
  std::uint8_t first_ = 0;    // of the head that is being read
  int head_bytes_left_ = -1;  // -1: no head is begun
  std::uint64_t value_ = 0;   // of that head
  bool done_ = false;
  const char* fault_ = nullptr;
};

}  // namespace coffer::feed
