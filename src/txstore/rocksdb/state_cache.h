// The values of tx_state that were written or read last, by id, as the database has them. A parent
// is mostly spent, and a transaction mostly deleted, soon enough to be found here.
// Invariant: what it says of an id is what the last commit left. Not thread-safe.
// Cost: one or two probes of a table; a copy into memory that is allocated once.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include <coffer/base/bytes.h>

namespace coffer::txstore {

// Two halves: what is used goes into the young one; when that is full it becomes the old one, and
// what was in the old one is forgotten.
class StateCache {
 public:
  explicit StateCache(std::size_t bytes) : half_bytes_(bytes / 2) {}

  // An empty value: the database has no such key. Nothing: unknown. Valid until the next call.
  std::optional<ByteView> find(const Hash256& id);
  // An empty value stands for a key that was deleted.
  void put(const Hash256& id, ByteView value);
  void clear();

 private:
  // Entries one after another: id, size of the value, value. The table holds where they begin.
  class Half {
   public:
    std::optional<ByteView> find(const Hash256& id) const;
    void put(const Hash256& id, ByteView value);
    std::size_t bytes() const { return entries_.size() + slots_.size() * sizeof(std::uint32_t); }
    void clear();

   private:
    std::size_t slot_of(const Hash256& id) const;
    void grow();

    std::vector<std::uint8_t> entries_;
    std::vector<std::uint32_t> slots_;  // offset + 1; 0 is free; a power of two of them
    std::size_t used_ = 0;
  };

  const std::size_t half_bytes_;
  Half young_, old_;
};

}  // namespace coffer::txstore
