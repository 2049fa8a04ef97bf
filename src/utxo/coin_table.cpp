#include "utxo/coin_table.h"

#include <random>

#include "base/check.h"

namespace coffer::utxo {
namespace {

constexpr std::size_t kFirstSlots = 1024;  // a power of two
constexpr std::size_t kAllocation = 16;    // what the heap adds to a record

}  // namespace

CoinTable::CoinTable() : slots_(kFirstSlots) {
  std::random_device device;
  salt_ = (static_cast<std::uint64_t>(device()) << 32) | device() | 1;
}

std::uint32_t CoinTable::hash(const chain::Outpoint& outpoint) const {
  // A product's high half depends on all bits of both factors.
  const std::uint64_t word = load_le<std::uint64_t>(outpoint.tx.data() + 8) ^
                             load_le<std::uint64_t>(outpoint.tx.data()) ^
                             (outpoint.index * 0x9e3779b97f4a7c15ull);
  const auto product = static_cast<U128>(word ^ (salt_ >> 7)) * salt_;
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(product >> 64) ^
                                    static_cast<std::uint64_t>(product));
}

// Where the outpoint is, or would be.
std::size_t CoinTable::slot_of(const chain::Outpoint& outpoint, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].id != 0 &&
         !(slots_[at].hash == hash && coin(slots_[at].id).outpoint == outpoint))
    at = (at + 1) & mask;
  return at;
}

Coin* CoinTable::find(const chain::Outpoint& outpoint) {
  const Slot& slot = slots_[slot_of(outpoint, hash(outpoint))];
  return slot.id == 0 ? nullptr : &coin(slot.id);
}

void CoinTable::grow() {
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

Coin& CoinTable::insert(const chain::Outpoint& outpoint) {
  if (2 * (size_ + 1) > slots_.size()) grow();
  std::uint32_t id = 0;
  if (!free_.empty()) {
    id = free_.back();
    free_.pop_back();
  } else {
    if (used_ % kChunk == 0) chunks_.push_back(std::make_unique<Coin[]>(kChunk));
    id = ++used_;
  }
  const std::uint32_t h = hash(outpoint);
  Slot& slot = slots_[slot_of(outpoint, h)];
  CHECK(slot.id == 0);
  slot = {id, h};
  Coin& made = coin(id);
  made = Coin{};
  made.outpoint = outpoint;
  ++size_;
  bytes_ += sizeof(Coin);
  return made;
}

void CoinTable::erase(Coin& gone) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t hole = slot_of(gone.outpoint, hash(gone.outpoint));
  CHECK(slots_[hole].id != 0);
  free_.push_back(slots_[hole].id);
  if (gone.body.bytes) bytes_ -= gone.body.size + kAllocation;
  gone.body = {};
  --size_;
  bytes_ -= sizeof(Coin);
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

void CoinTable::set_body(Coin& at, Body body) {
  if (at.body.bytes) bytes_ -= at.body.size + kAllocation;
  bytes_ += body.size + kAllocation;
  at.body = std::move(body);
}

Body CoinTable::take_body(Coin& at) {
  if (at.body.bytes) bytes_ -= at.body.size + kAllocation;
  return std::exchange(at.body, {});
}

std::vector<const Coin*> CoinTable::all() const {
  std::vector<const Coin*> coins;
  coins.reserve(size_);
  for (const Slot& slot : slots_)
    if (slot.id != 0) coins.push_back(&coin(slot.id));
  return coins;
}

}  // namespace coffer::utxo
