// A fixed number of threads and a queue of jobs before them, bounded here or by whoever submits.
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
  // The same for jobs whose number the caller bounds: they take no place of the others. False only
  // when the pool has stopped.
  bool submit(std::function<void()> job);

  // Drops what is queued, waits for what runs. Idempotent; not from a worker.
  void stop();

 private:
  struct Job {
    std::function<void()> run;
    bool counts;  // towards queue_bound_
  };
  bool add(Job job);
  void run();

  const std::size_t queue_bound_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  std::size_t counted_ = 0;  // of jobs_
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace coffer::http
