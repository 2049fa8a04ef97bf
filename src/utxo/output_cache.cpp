#include "utxo/output_cache.h"

#include <random>

#include "base/check.h"

namespace coffer::utxo {
namespace {

constexpr std::size_t kFirstSlots = 1024;  // a power of two
constexpr std::size_t kAllocation = 16;    // what the heap adds to a record

}  // namespace

OutputCache::OutputCache() : slots_(kFirstSlots) {
  std::random_device device;
  salt_ = (static_cast<std::uint64_t>(device()) << 32) | device() | 1;
}

std::uint32_t OutputCache::hash(const chain::Outpoint& outpoint) const {
  // A product's high half depends on all bits of both factors.
  const std::uint64_t word = load_le<std::uint64_t>(outpoint.tx.data() + 8) ^
                             load_le<std::uint64_t>(outpoint.tx.data()) ^
                             (outpoint.index * 0x9e3779b97f4a7c15ull);
  const auto product = static_cast<U128>(word ^ (salt_ >> 7)) * salt_;
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(product >> 64) ^
                                    static_cast<std::uint64_t>(product));
}

// Where the outpoint is, or would be.
std::size_t OutputCache::slot_of(const chain::Outpoint& outpoint, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id != 0 &&
         !(slots_[at].hash == hash && entry(slots_[at].id).outpoint == outpoint))
    at = (at + 1) & mask;
  return at;
}

CachedOutput* OutputCache::find(const chain::Outpoint& outpoint) {
  const Slot& slot = slots_[slot_of(outpoint, hash(outpoint))];
  return slot.id == 0 ? nullptr : &entry(slot.id);
}

void OutputCache::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].id != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

CachedOutput& OutputCache::insert(const chain::Outpoint& outpoint) {
  if (2 * (size_ + 1) > slots_.size()) grow();
  std::uint32_t id = 0;
  if (!free_.empty()) {
    id = free_.back();
    free_.pop_back();
  } else {
    if (used_ % kChunk == 0) chunks_.push_back(std::make_unique<CachedOutput[]>(kChunk));
    id = ++used_;
  }
  const std::uint32_t h = hash(outpoint);
  Slot& slot = slots_[slot_of(outpoint, h)];
  CHECK(slot.id == 0);
  slot = {id, h};
  CachedOutput& made = entry(id);
  made = CachedOutput{};
  made.outpoint = outpoint;
  ++size_;
  bytes_ += sizeof(CachedOutput);
  return made;
}

void OutputCache::erase(CachedOutput& gone) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t hole = slot_of(gone.outpoint, hash(gone.outpoint));
  CHECK(slots_[hole].id != 0);
  free_.push_back(slots_[hole].id);
  if (gone.body.bytes) bytes_ -= gone.body.size + kAllocation;
  gone.body = {};
  --size_;
  bytes_ -= sizeof(CachedOutput);
  // Moves what follows into the hole, unless that would put it before its own place.
  for (std::size_t at = (hole + 1) & mask; slots_[at].id != 0; at = (at + 1) & mask) {
    const std::size_t home = slots_[at].hash & mask;
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      slots_[hole] = slots_[at];
      hole = at;
    }
  }
  slots_[hole] = {};
}

void OutputCache::set_body(CachedOutput& at, Body body) {
  if (at.body.bytes) bytes_ -= at.body.size + kAllocation;
  bytes_ += body.size + kAllocation;
  at.body = std::move(body);
}

Body OutputCache::take_body(CachedOutput& at) {
  if (at.body.bytes) bytes_ -= at.body.size + kAllocation;
  return std::exchange(at.body, {});
}

std::vector<const CachedOutput*> OutputCache::all() const {
  std::vector<const CachedOutput*> outputs;
  outputs.reserve(size_);
  for (const Slot& slot : slots_)
    if (slot.id != 0) outputs.push_back(&entry(slot.id));
  return outputs;
}

}  // namespace coffer::utxo
