// Work that is done again and again on a thread of its own, such as counting for metrics.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace coffer::api {

class PeriodicTask {
 public:
  using Duration = std::chrono::steady_clock::duration;
  // Does the work once. `go_on()` is false once the task is being destroyed: long work asks it now
  // and then.
  using Work = std::function<void(const std::function<bool()>& go_on)>;
  // How long to wait after work that took so long.
  using Pause = std::function<Duration(Duration taken)>;

  // Starts at once.
  PeriodicTask(Work work, Pause pause);
  // Waits for work under way.
  ~PeriodicTask();
  PeriodicTask(const PeriodicTask&) = delete;
  PeriodicTask& operator=(const PeriodicTask&) = delete;

 private:
  void run();
  bool goes_on() const;

  const Work work_;
  const Pause pause_;
  mutable std::mutex mutex_;  // guards stopping_
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace coffer::api
