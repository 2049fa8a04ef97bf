#include "txstore/waiting.h"

namespace coffer::txstore {

void WaitingTxs::add(const bus::TxSeen& seen, const Hash256& missing_parent) {
  remove(seen.id());
  const std::size_t bytes = bus::weight(seen);
  if (bytes > most_bytes_) return;
  while (!order_.empty() && (by_id_.size() >= most_ || bytes_ + bytes > most_bytes_)) {
    const Place oldest = order_.front();
    order_.pop_front();
    if (is_taken(oldest)) remove(oldest.id);
  }
  by_id_.emplace(seen.id(), Waiting{seen, missing_parent, ++added_});
  by_parent_.emplace(missing_parent, seen.id());
  order_.push_back({added_, seen.id()});
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
    std::erase_if(order_, [&](const Place& each) { return !is_taken(each); });
}

bool WaitingTxs::is_taken(const Place& place) const {
  const auto found = by_id_.find(place.id);
  return found != by_id_.end() && found->second.number == place.number;
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
