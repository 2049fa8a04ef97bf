#include "token/transfer/group_queue.h"

namespace coffer::token {

void GroupQueue::add(std::unique_ptr<GroupItem> item) {
  ++size_;
  waiting_.push_back(std::move(item));
}

bool GroupQueue::is_free(const GroupItem& item) const {
  const Transfer& transfer = item.transfer;
  return !busy_wallets_.contains(transfer.from) && !busy_wallets_.contains(transfer.to) &&
         !busy_ids_.contains(transfer.id);
}

GroupQueue::Blocked* GroupQueue::find_blocked(const Transfer& transfer) {
  if (blocked_.empty()) return nullptr;
  for (const Uuid& wallet : {transfer.from, transfer.to})
    if (const auto found = blocked_.find(wallet); found != blocked_.end()) return &found->second;
  return nullptr;
}

GroupItems GroupQueue::take() {
  GroupItems group;
  Ids kept;  // wallets of items that waited too long
  for (auto at = waiting_.begin(); at != waiting_.end() && group.size() < kMaxGroup;) {
    GroupItem& item = **at;
    if (Blocked* blocked = find_blocked(item.transfer)) {
      blocked->items.push_back(std::move(*at));
      at = waiting_.erase(at);
    } else if (is_free(item) && !kept.contains(item.transfer.from) &&
               !kept.contains(item.transfer.to)) {
      group.push_back(std::move(*at));
      at = waiting_.erase(at);
    } else {
      if (++item.passed_over >= kMaxPassedOver) {
        kept.insert(item.transfer.from);
        kept.insert(item.transfer.to);
      }
      ++at;
    }
  }
  reserve(group);
  return group;
}

void GroupQueue::reserve(const GroupItems& items) {
  size_ -= items.size();
  for (const auto& item : items) {
    busy_wallets_.insert(item->transfer.from);
    busy_wallets_.insert(item->transfer.to);
    busy_ids_.insert(item->transfer.id);
  }
}

std::size_t GroupQueue::release(const GroupItems& items) {
  std::size_t wallets = 0;
  for (const auto& item : items) {
    wallets += busy_wallets_.erase(item->transfer.from);
    wallets += busy_wallets_.erase(item->transfer.to);
    busy_ids_.erase(item->transfer.id);
  }
  return wallets;
}

void GroupQueue::block(std::unique_ptr<GroupItem> item, const Uuid& wallet, std::int64_t now_ms) {
  ++size_;
  if (!item->blocked_at_ms) item->blocked_at_ms = now_ms;
  blocked_[wallet].items.push_back(std::move(item));
}

std::optional<Uuid> GroupQueue::serve_blocked() {
  for (auto& [wallet, blocked] : blocked_) {
    if (blocked.is_served) continue;
    blocked.is_served = true;
    return wallet;
  }
  return std::nullopt;
}

GroupItems GroupQueue::take_blocked(const Uuid& wallet) {
  GroupItems group;
  auto& items = blocked_[wallet].items;
  for (auto at = items.begin(); at != items.end() && group.size() < kMaxGroup;) {
    const Transfer& transfer = (*at)->transfer;
    const Uuid& other = transfer.from == wallet ? transfer.to : transfer.from;
    if (other != wallet) {
      if (const auto found = blocked_.find(other); found != blocked_.end()) {
        found->second.items.push_back(std::move(*at));
        at = items.erase(at);
        continue;
      }
    }
    if (!is_free(**at)) {
      ++at;
      continue;
    }
    group.push_back(std::move(*at));
    at = items.erase(at);
  }
  reserve(group);
  return group;
}

GroupItems GroupQueue::take_overdue(const Uuid& wallet, std::int64_t since_ms) {
  GroupItems overdue;
  auto& items = blocked_[wallet].items;
  for (auto at = items.begin(); at != items.end();) {
    if ((*at)->blocked_at_ms.value_or(since_ms) > since_ms) {
      ++at;
      continue;
    }
    overdue.push_back(std::move(*at));
    at = items.erase(at);
    --size_;
  }
  return overdue;
}

void GroupQueue::unblock(const Uuid& wallet) {
  const auto found = blocked_.find(wallet);
  if (found == blocked_.end()) return;
  waiting_.splice(waiting_.begin(), found->second.items);
  blocked_.erase(found);
}

bool GroupQueue::is_still_blocked(const Uuid& wallet) {
  const auto found = blocked_.find(wallet);
  if (found == blocked_.end()) return false;
  if (!found->second.items.empty()) return true;
  blocked_.erase(found);
  return false;
}

GroupItems GroupQueue::take_all() {
  GroupItems all;
  for (auto& item : waiting_) all.push_back(std::move(item));
  waiting_.clear();
  for (auto& [wallet, blocked] : blocked_)
    for (auto& item : blocked.items) all.push_back(std::move(item));
  blocked_.clear();
  size_ = 0;
  return all;
}

}  // namespace coffer::token
