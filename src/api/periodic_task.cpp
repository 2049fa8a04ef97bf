#include "api/periodic_task.h"

namespace coffer::api {

PeriodicTask::PeriodicTask(Work work, Pause pause)
    : work_(std::move(work)), pause_(std::move(pause)), thread_([this] { run(); }) {}

PeriodicTask::~PeriodicTask() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool PeriodicTask::goes_on() const {
  std::lock_guard lock(mutex_);
  return !stopping_;
}

void PeriodicTask::run() {
  using Steady = std::chrono::steady_clock;
  while (goes_on()) {
    const auto begin = Steady::now();
    work_([this] { return goes_on(); });
    const Duration pause = pause_(Steady::now() - begin);
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, pause, [this] { return stopping_; })) return;
  }
}

}  // namespace coffer::api
