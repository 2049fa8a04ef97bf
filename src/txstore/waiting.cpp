#include "txstore/waiting.h"

namespace coffer::txstore {

void WaitingTxs::add(const bus::TxSeen& seen, const Hash256& missing_parent) {
  remove(seen.id());
  const std::size_t bytes = bus::weight(seen);
  if (bytes > most_bytes_) return;
  while (!order_.empty() && (by_id_.size() >= most_ || bytes_ + bytes > most_bytes_)) {
    const Hash256 oldest = order_.front();
    order_.pop_front();
    remove(oldest);
  }
  by_id_.emplace(seen.id(), Waiting{seen, missing_parent});
  by_parent_.emplace(missing_parent, seen.id());
  order_.push_back(seen.id());
  bytes_ += bytes;
}

void WaitingTxs::remove(const Hash256& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  bytes_ -= bus::weight(found->second.seen);
  auto [at, end] = by_parent_.equal_range(found->second.parent);
  for (; at != end; ++at)
    if (at->second == id) {
      by_parent_.erase(at);
      break;
    }
  by_id_.erase(found);
  // Its place in the order is passed over when it comes up; it does not outgrow the bound by much.
  if (order_.size() > 2 * most_ + 16)
    std::erase_if(order_, [&](const Hash256& each) { return !by_id_.contains(each); });
}

std::vector<bus::TxSeen> WaitingTxs::take(const Hash256& parent) {
  std::vector<bus::TxSeen> ready;
  if (by_parent_.empty()) return ready;
  std::vector<Hash256> ids;
  const auto [begin, end] = by_parent_.equal_range(parent);
  for (auto at = begin; at != end; ++at) ids.push_back(at->second);
  for (const Hash256& id : ids) {
    ready.push_back(by_id_.at(id).seen);
    remove(id);
  }
  return ready;
}

}  // namespace coffer::txstore
