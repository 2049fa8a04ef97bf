// For tests: what a scripted server does wrong, and what it was asked. A fault changes the honest
// answer of the next call that it matches; when its times are used up, answers are honest again.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace coffer::test {

inline constexpr std::size_t kAlways = ~std::size_t{0};

// Which calls a fault is for: after the next `after` matching ones, so many `times`. `about` is the
// call's first parameter or its block, as the server documents; empty for any.
struct When {
  std::size_t times = 1;
  std::size_t after = 0;
  std::string about = {};
};

// Thread-safe.
template <typename Reply>
class FaultScript {
 public:
  using Fault = std::function<void(Reply&)>;

  // `call` is a name that the server documents, or "*" for every call.
  void add(std::string call, Fault fault, When when) {
    std::lock_guard lock(mutex_);
    entries_.push_back({std::move(call), std::move(fault), std::move(when)});
  }
  void clear() {
    std::lock_guard lock(mutex_);
    entries_.clear();
    changed_.notify_all();
  }

  // Counts the call and changes the reply by the first entry that is for it.
  void answer(const std::string& call, const std::string& about, Reply& reply) {
    std::lock_guard lock(mutex_);
    ++asked_[call];
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      When& when = it->when;
      if (it->call != "*" && it->call != call) continue;
      if (!when.about.empty() && when.about != about) continue;
      if (when.after > 0) {
        --when.after;
        continue;
      }
      it->fault(reply);
      ++faults_;
      if (when.times != kAlways) --when.times;
      if (when.times == 0) entries_.erase(it);
      break;
    }
    changed_.notify_all();
  }

  std::size_t asked(const std::string& call) const {
    std::lock_guard lock(mutex_);
    const auto found = asked_.find(call);
    return found == asked_.end() ? 0 : found->second;
  }
  std::map<std::string, std::size_t> asked() const {
    std::lock_guard lock(mutex_);
    return asked_;
  }
  // How many answers were changed.
  std::size_t faults() const {
    std::lock_guard lock(mutex_);
    return faults_;
  }
  // Waits until the call came so many times since the start. False after the time.
  bool wait_asked(const std::string& call, std::size_t count, int timeout_ms) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                             [&] { return asked_[call] >= count; });
  }
  // Waits until every entry that ends was used up. False after the time.
  bool wait_used(int timeout_ms) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] {
      for (const Entry& entry : entries_)
        if (entry.when.times != kAlways) return false;
      return true;
    });
  }

 private:
  struct Entry {
    std::string call;
    Fault fault;
    When when;
  };
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> entries_;
  std::map<std::string, std::size_t> asked_;
  std::size_t faults_ = 0;
};

}  // namespace coffer::test
