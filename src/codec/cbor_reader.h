// A zero-copy pull reader for CBOR (RFC 8949). Accepts every well-formed encoding, since hashes are
// taken over original bytes; views point into the input. Depth and sizes are bounded by the input
// alone (E12), and nothing here recurses.
// Invariant: after a fault nothing more is consumed and every answer is zero, empty or false.
#pragma once

#include <cstdint>

#include <coffer/base/bytes.h>
#include "codec/fault.h"

namespace coffer::codec {

enum class CborType : std::uint8_t {
  kUint,
  kNegative,
  kBytes,
  kText,
  kArray,
  kMap,
  kTag,
  kSimple,
  kBreak,  // the end mark of an indefinite container
  kEnd,    // no more input, or a fault
};

// The items of an array, or the pairs of a map, that are still to come.
struct CborItems {
  std::uint64_t left = 0;
  bool indefinite = false;
  bool ended = false;  // next() has answered false: it does so from then on
};

// Not thread-safe. Each method costs the bytes it consumes. None allocates, but for skip() within
// more than 32 nested containers of indefinite length, and then at most four times the input's
// size.
class CborReader {
 public:
  explicit CborReader(ByteView data) : data_(data) {}

  CborType type() const;
  std::uint64_t read_uint();
  std::int64_t read_int();  // positive or negative, within 64 bits
  ByteView read_bytes();    // definite length only
  ByteView read_bytes(std::size_t exact_length);
  ByteView read_text();  // definite length only; UTF-8 is not checked
  bool read_bool();
  std::uint64_t read_tag();
  bool try_tag(std::uint64_t tag);  // consumes the tag if it is next
  bool try_null();                  // consumes null or undefined if it is next

  // for (auto items = r.begin_array(); r.next(items);) …   Run the loop to its end.
  CborItems begin_array();
  CborItems begin_map();
  bool next(CborItems& items);
  // An array that must have exactly this many items, which the caller then reads; end_fixed()
  // closes it.
  CborItems begin_fixed(std::uint64_t count);
  void end_fixed(CborItems items);

  // One whole item of any type; its original bytes.
  ByteView skip();

  std::size_t offset() const { return at_; }
  ByteView since(std::size_t start) const { return data_.subspan(start, at_ - start); }
  bool at_end() const { return at_ == data_.size() || fault_; }
  bool ok() const { return !fault_; }
  const Fault& fault() const { return fault_; }
  void fail_here(const char* what) { fail_at(what, at_); }
  void fail_at(const char* what, std::size_t at) {
    if (!fault_) fault_ = {what, at};
  }

 private:
  struct Head {
    std::uint8_t major = 0;
    bool indefinite = false;
    std::uint64_t value = 0;
  };
  Head read_head();
  Head expect(std::uint8_t major, const char* what);
  ByteView read_string(std::uint8_t major, const char* what);
  CborItems begin(std::uint8_t major, std::uint64_t bytes_per_item, const char* what);
  bool break_is_next() const { return at_ < data_.size() && data_[at_] == 0xff; }

  ByteView data_;
  std::size_t at_ = 0;
  Fault fault_;
};

// Whether the bytes are exactly one canonical item: shortest integers, definite lengths, map keys
// in bytewise ascending order without repeats (RFC 8949, 4.2.1).
bool is_canonical_cbor(ByteView data);

}  // namespace coffer::codec
