#include "txstore/rocksdb/state_cache.h"

#include <cstring>
#include <utility>

namespace coffer::txstore {
namespace {

constexpr std::size_t kIdBytes = Hash256::kSize, kHeadBytes = kIdBytes + sizeof(std::uint32_t);
constexpr std::size_t kFirstSlots = 1'024;

}  // namespace

// Ids are hashes: any of their bytes are as good as a hash of them.
std::size_t StateCache::Half::slot_of(const Hash256& id) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, id.data() + 8, sizeof bits);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = bits & mask;
  while (slots_[slot] != 0 &&
         std::memcmp(entries_.data() + (slots_[slot] - 1), id.data(), kIdBytes) != 0)
    slot = (slot + 1) & mask;
  return slot;
}

std::optional<ByteView> StateCache::Half::find(const Hash256& id) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t at = slots_[slot_of(id)];
  if (at == 0) return std::nullopt;
  const std::uint8_t* entry = entries_.data() + (at - 1);
  std::uint32_t size = 0;
  std::memcpy(&size, entry + kIdBytes, sizeof size);
  return ByteView(entry + kHeadBytes, size);
}

void StateCache::Half::grow() {
  std::vector<std::uint32_t> before =
      std::exchange(slots_, std::vector<std::uint32_t>(std::max(kFirstSlots, 2 * slots_.size())));
  for (const std::uint32_t at : before)
    if (at != 0) slots_[slot_of(Hash256::from(entries_.data() + (at - 1)))] = at;
}

void StateCache::Half::put(const Hash256& id, ByteView value) {
  if (2 * (used_ + 1) > slots_.size()) grow();
  const std::size_t slot = slot_of(id);
  if (slots_[slot] == 0) ++used_;
  slots_[slot] = static_cast<std::uint32_t>(entries_.size() + 1);
  const auto size = static_cast<std::uint32_t>(value.size());
  const std::size_t begin = entries_.size();
  entries_.resize(begin + kHeadBytes + size);
  std::memcpy(entries_.data() + begin, id.data(), kIdBytes);
  std::memcpy(entries_.data() + begin + kIdBytes, &size, sizeof size);
  if (size > 0) std::memcpy(entries_.data() + begin + kHeadBytes, value.data(), size);
}

void StateCache::Half::clear() {
  entries_.clear();
  slots_.clear();
  used_ = 0;
}

std::optional<ByteView> StateCache::find(const Hash256& id) {
  if (const auto found = young_.find(id)) return found;
  const auto found = old_.find(id);
  if (!found) return std::nullopt;
  const Bytes value(found->begin(), found->end());  // putting may end the old half
  put(id, value);
  return young_.find(id);
}

void StateCache::put(const Hash256& id, ByteView value) {
  if (half_bytes_ == 0) return;
  if (young_.bytes() + kHeadBytes + value.size() > half_bytes_) {
    std::swap(young_, old_);
    young_.clear();
  }
  young_.put(id, value);
}

void StateCache::clear() {
  young_.clear();
  old_.clear();
}

}  // namespace coffer::txstore
