// Whether an index has the keys that the records say it must have, without holding either list:
// both may be too long for memory. Sums of hashes tell that they differ, and in which part; a
// second walk over that part only, which is short enough to be held, tells where.
#pragma once

#include <optional>
#include <vector>

#include <coffer/base/bytes.h>
#include <coffer/base/strong.h>

namespace coffer::txstore {

// 64 KiB whatever is added. Not thread-safe. Cost: a SHA-256 a key.
class KeySets {
 public:
  static constexpr std::uint32_t kParts = 4'096;
  // The part that a key belongs to.
  static std::uint32_t part_of(ByteView key);

  void add_expected(ByteView key) { add(key, true); }  // a record says so; each key once
  void add_found(ByteView key) { add(key, false); }    // the index has it; each key once
  // Nothing if both have the same keys.
  std::optional<std::uint32_t> differing_part() const;

 private:
  void add(ByteView key, bool expected);

  // Of each part the sum of what is expected less the sum of what was found, modulo 2^128.
  std::vector<U128> differences_ = std::vector<U128>(kParts);
};

}  // namespace coffer::txstore
