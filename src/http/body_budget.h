// How many bytes the bodies of all requests may take together. Internal to http.
// Invariant: what was taken is given back when the last copy of its share is gone, also after the
// server has gone.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace coffer::http {

// Thread-safe.
class BodyBudget : public std::enable_shared_from_this<BodyBudget> {
 public:
  using Share = std::shared_ptr<const void>;

  explicit BodyBudget(std::size_t bytes) : bytes_(bytes) {}

  // Null when there is not so much left. The first one gets as much as it needs.
  Share take(std::size_t bytes) {
    std::size_t taken = taken_.load();
    do {
      if (taken != 0 && (taken >= bytes_ || bytes > bytes_ - taken)) return nullptr;
    } while (!taken_.compare_exchange_weak(taken, taken + bytes));
    return {static_cast<const void*>(this),
            [self = shared_from_this(), bytes](const void*) { self->taken_ -= bytes; }};
  }
  std::size_t taken() const { return taken_; }

 private:
  const std::size_t bytes_;
  std::atomic<std::size_t> taken_ = 0;
};

}  // namespace coffer::http
