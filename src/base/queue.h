// A bounded queue between threads: the producer waits when it is full (backpressure), everyone
// wakes on close.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "base/check.h"

namespace coffer {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) { CHECK(capacity > 0); }

  // Waits for room. False if the queue is closed; the item is then dropped.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return items_.size() < capacity_ || closed_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    has_items_.notify_one();
    return true;
  }

  // Waits for an item. Nothing once the queue is closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    has_items_.wait(lock, [&] { return !items_.empty() || closed_; });
    return take(lock);
  }

  // No more pushes; what is queued can still be popped.
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    has_items_.notify_all();
    has_room_.notify_all();
  }

  // Closes, and drops what is queued.
  void abort() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    items_.clear();
    has_items_.notify_all();
    has_room_.notify_all();
  }

  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }
  std::size_t capacity() const { return capacity_; }
  bool closed() const {
    std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  std::optional<T> take(std::unique_lock<std::mutex>&) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    has_room_.notify_one();
    return item;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable has_items_, has_room_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace coffer
