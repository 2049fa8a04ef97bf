// The outputs that commits to come will change, by outpoint, in memory.
// Invariant: pointers to outputs stay good until the output is erased. Cost of an operation: one or
// two cache misses; 56 bytes an output beside its record.
#pragma once

#include <memory>
#include <vector>

#include <coffer/chain/block.h>

namespace coffer::utxo {

// A record's bytes on the heap.
struct Body {
  std::unique_ptr<std::uint8_t[]> bytes;
  std::uint32_t size = 0;

  static Body copy(ByteView from) {
    Body body;
    body.bytes.reset(new std::uint8_t[from.size()]);
    body.size = static_cast<std::uint32_t>(from.size());
    std::memcpy(body.bytes.get(), from.data(), from.size());
    return body;
  }
  ByteView view() const { return {bytes.get(), size}; }
};

enum class CacheState : std::uint8_t {
  kFresh,      // created by the block in hand; its record is not made yet
  kTransient,  // created and spent by the block in hand
  kLive,       // unspent, to be written
  kSpending,   // taken by the block in hand
  kSpent,      // on disk, to be deleted
  kFetching,   // taken by the block in hand, if it is on disk
};

struct CachedOutput {
  chain::Outpoint outpoint;
  CacheState state = CacheState::kFresh;
  bool on_disk = false;   // utxo_unspent holds a record of this outpoint
  std::uint32_t row = 0;  // of Block::outputs while fresh or transient
  Body body;
};

// Not thread-safe.
class OutputCache {
 public:
  OutputCache();
  OutputCache(OutputCache&&) = default;
  OutputCache& operator=(OutputCache&&) = default;

  CachedOutput* find(const chain::Outpoint& outpoint);
  // There must be none of this outpoint.
  CachedOutput& insert(const chain::Outpoint& outpoint);
  void erase(CachedOutput& cached);
  void set_body(CachedOutput& cached, Body body);
  Body take_body(CachedOutput& cached);

  std::size_t size() const { return size_; }
  // Memory held, for the bound on what is held back.
  std::size_t bytes() const { return bytes_ + slots_.size() * sizeof(Slot); }
  // In no particular order.
  std::vector<const CachedOutput*> all() const;

 private:
  struct Slot {
    std::uint32_t id = 0;  // of the output, from 1; 0 = free
    std::uint32_t hash = 0;
  };
  static constexpr std::size_t kChunk = 4096;

  CachedOutput& entry(std::uint32_t id) const {
    return chunks_[(id - 1) / kChunk][(id - 1) % kChunk];
  }
  std::uint32_t hash(const chain::Outpoint& outpoint) const;
  std::size_t slot_of(const chain::Outpoint& outpoint, std::uint32_t hash) const;
  void grow();

  std::uint64_t salt_;  // so that nobody can make transaction ids that collide here
  std::vector<Slot> slots_;
  std::vector<std::unique_ptr<CachedOutput[]>> chunks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;  // ids given so far
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace coffer::utxo
