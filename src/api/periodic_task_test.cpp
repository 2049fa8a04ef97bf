#include "api/periodic_task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>

namespace coffer::api {
namespace {

TEST(PeriodicTask, WorksAgainAfterThePause) {
  std::latch third{3};
  std::atomic<int> rounds{0};
  PeriodicTask task(
      [&](const auto&) {
        if (++rounds <= 3) third.count_down();
      },
      [](PeriodicTask::Duration) { return std::chrono::milliseconds(1); });
  third.wait();
}

TEST(PeriodicTask, DestroyingItEndsTheWaitAndLongWork) {
  std::latch began{1};
  {
    PeriodicTask task(
        [&](const std::function<bool()>& go_on) {
          began.count_down();
          while (go_on()) std::this_thread::yield();
        },
        [](PeriodicTask::Duration) { return std::chrono::hours(1); });
    began.wait();
  }
  std::latch done{1};
  PeriodicTask waits([&](const auto&) { done.count_down(); },
                     [](PeriodicTask::Duration) { return std::chrono::hours(1); });
  done.wait();
}

}  // namespace
}  // namespace coffer::api
