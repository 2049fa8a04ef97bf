// A fixed number of threads and a bounded queue of jobs before them.
// Invariant: a job that was accepted runs once, or is dropped by stop().
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace coffer::http {

class WorkerPool {
 public:
  WorkerPool(std::size_t threads, std::size_t queue_bound);
  ~WorkerPool() { stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False when the queue is full or the pool has stopped; never waits. Thread-safe.
  // A job must not throw.
  bool try_submit(std::function<void()> job);

  // Drops what is queued, waits for what runs. Idempotent; not from a worker.
  void stop();

 private:
  void run();

  const std::size_t queue_bound_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace coffer::http
