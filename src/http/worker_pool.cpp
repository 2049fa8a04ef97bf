#include "http/worker_pool.h"

#include "base/check.h"

namespace coffer::http {

WorkerPool::WorkerPool(std::size_t threads, std::size_t queue_bound) : queue_bound_(queue_bound) {
  CHECK(threads > 0 && queue_bound > 0);
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

bool WorkerPool::try_submit(std::function<void()> job) {
  return add({std::move(job), true});
}

bool WorkerPool::submit(std::function<void()> job) {
  return add({std::move(job), false});
}

bool WorkerPool::add(Job job) {
  {
    std::lock_guard lock(mutex_);
    if (stopped_ || (job.counts && counted_ >= queue_bound_)) return false;
    if (job.counts) ++counted_;
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
  return true;
}

void WorkerPool::run() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopped_ || !jobs_.empty(); });
      if (stopped_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
      if (job.counts) --counted_;
    }
    job.run();
  }
}

void WorkerPool::stop() {
  std::deque<Job> dropped;  // destroyed outside the lock: jobs own connections
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(jobs_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

}  // namespace coffer::http
