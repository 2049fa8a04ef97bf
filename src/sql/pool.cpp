#include "sql/pool_impl.h"

#include <chrono>

#include "base/check.h"
#include "base/result.h"
#include "sql/connection.h"
#include "sql/impl.h"

namespace coffer::sql {

Pool::Pool(std::size_t max, Opener opener) : max_(max), opener_(std::move(opener)) {
  CHECK(max > 0);
}

Pool::~Pool() {
  CHECK(open_ == idle_.size());  // a connection must not outlive its database
}

Result<std::unique_ptr<Driver>> Pool::acquire(std::int64_t wait_ms) {
  std::vector<std::unique_ptr<Driver>> broken;  // closed after the lock is gone
  {
    std::unique_lock lock(mutex_);
    // In the order of their coming: who gives a connection back and wants it again at once would
    // otherwise always be faster than those that sleep.
    const std::uint64_t ticket = ++tickets_;
    waiting_.push_back(ticket);
    const bool free = freed_.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] {
      return waiting_.front() == ticket && (!idle_.empty() || open_ < max_);
    });
    std::erase(waiting_, ticket);
    freed_.notify_all();
    if (!free)
      return fail(Code::kTimeout,
                  "all {} connections to the database were in use for {} ms; try again", max_,
                  wait_ms);
    while (!idle_.empty()) {
      auto driver = std::move(idle_.back());
      idle_.pop_back();
      if (driver->alive()) return driver;
      broken.push_back(std::move(driver));
      --open_;
    }
    ++open_;
  }
  auto driver = opener_();
  if (!driver) {
    std::lock_guard lock(mutex_);
    --open_;
    freed_.notify_all();
  }
  return driver;
}

void Pool::release(std::unique_ptr<Driver> driver) {
  if (driver->in_transaction()) driver->rollback_transaction();
  if (!driver->alive()) driver.reset();
  std::lock_guard lock(mutex_);
  if (driver)
    idle_.push_back(std::move(driver));
  else
    --open_;
  freed_.notify_all();
}

void Pool::drop_idle() {
  std::vector<std::unique_ptr<Driver>> dropped;
  std::lock_guard lock(mutex_);
  dropped.swap(idle_);
  open_ -= dropped.size();
  freed_.notify_all();
}

std::size_t Pool::open() const {
  std::lock_guard lock(mutex_);
  return open_;
}

std::size_t Pool::idle() const {
  std::lock_guard lock(mutex_);
  return idle_.size();
}

}  // namespace coffer::sql
