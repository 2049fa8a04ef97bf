// Connections that wait for work: at most so many, made when needed, dropped when broken.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"

namespace coffer::sql {

class Driver;

// Thread-safe.
class Pool {
 public:
  using Opener = std::function<Result<std::unique_ptr<Driver>>()>;
  Pool(std::size_t max, Opener opener);
  ~Pool();

  // An idle connection or a new one; waits while all are in use. Errors: kTimeout, the opener's.
  Result<std::unique_ptr<Driver>> acquire(std::int64_t wait_ms);
  void release(std::unique_ptr<Driver> driver);
  // After one connection was lost the others are probably gone too.
  void drop_idle();

  std::size_t open() const;
  std::size_t idle() const;

 private:
  const std::size_t max_;
  const Opener opener_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Driver>> idle_;
  std::size_t open_ = 0;               // idle and handed out
  std::deque<std::uint64_t> waiting_;  // tickets, first come first served
  std::uint64_t tickets_ = 0;
};

}  // namespace coffer::sql
