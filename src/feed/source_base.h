// What the sources of this directory share: the tip that they report, and how their waits end.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include <coffer/feed/source.h>
#include "base/result.h"

namespace coffer::feed {

class SourceBase : public Source {
 public:
  std::optional<std::uint64_t> tip_number() const final;
  std::optional<std::uint64_t> confirmed_tip() const final;
  std::optional<std::uint64_t> pruned_below() const final;
  void interrupt() final;

 protected:
  void set_pruned_below(std::optional<std::uint64_t> height);
  // One that is believed at once: files, and the simulation.
  void set_tip(std::uint64_t number) { set_tip(number, number); }
  // Nothing: the source has no block.
  void set_tip(std::optional<std::uint64_t> number, std::uint64_t confirmed);

  // What to return once interrupted_ is set.
  static std::unexpected<Error> cancelled() { return fail(Code::kCancelled, "stopping"); }
  // Until the time is over, interrupt(), or a wake() that makes `is_ready` true.
  void wait(std::int64_t timeout_ms, const std::function<bool()>& is_ready = nullptr);
  void wake();

  std::atomic<bool> interrupted_{false};
  std::mutex mutex_;  // held while on_interrupt() runs and while `is_ready` is asked

 private:
  // Cuts what next() or intersect() may be waiting for, on the thread of interrupt().
  virtual void on_interrupt() {}

  std::condition_variable wake_;
  mutable std::mutex tip_mutex_;  // guards the numbers
  std::optional<std::uint64_t> tip_number_;
  std::uint64_t confirmed_tip_ = 0;
  std::optional<std::uint64_t> pruned_below_;
};

}  // namespace coffer::feed
