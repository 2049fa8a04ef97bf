#include "feed/source_base.h"

namespace coffer::feed {

std::optional<std::uint64_t> SourceBase::tip_number() const {
  std::lock_guard lock(tip_mutex_);
  return tip_number_;
}

std::optional<std::uint64_t> SourceBase::confirmed_tip() const {
  std::lock_guard lock(tip_mutex_);
  return tip_number_ ? std::optional(confirmed_tip_) : std::nullopt;
}

void SourceBase::set_tip(std::optional<std::uint64_t> number, std::uint64_t confirmed) {
  std::lock_guard lock(tip_mutex_);
  tip_number_ = number;
  confirmed_tip_ = confirmed;
}

void SourceBase::interrupt() {
  std::lock_guard lock(mutex_);
  interrupted_ = true;
  on_interrupt();
  wake_.notify_all();
}

void SourceBase::wait(std::int64_t timeout_ms, const std::function<bool()>& is_ready) {
  if (timeout_ms <= 0) return;
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                 [&] { return interrupted_ || (is_ready && is_ready()); });
}

void SourceBase::wake() {
  std::lock_guard lock(mutex_);
  wake_.notify_all();
}

std::optional<std::uint64_t> SourceBase::pruned_below() const {
  const std::lock_guard lock(tip_mutex_);
  return pruned_below_;
}

void SourceBase::set_pruned_below(std::optional<std::uint64_t> height) {
  const std::lock_guard lock(tip_mutex_);
  pruned_below_ = height;
}

}  // namespace coffer::feed
