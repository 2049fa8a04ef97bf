// What a reader of the event log sees: numbered events, oldest dropped first.
// Invariant: ids grow by one and are never used twice, also across restarts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace coffer::chainstate {

struct LoggedEvent {
  std::uint64_t id = 0;
  std::string type;  // "block" or "rollback"
  std::string data;  // one line of JSON
};

class EventReader {
 public:
  struct Range {
    std::uint64_t first = 0;  // the oldest id still kept; first > last means none is kept
    std::uint64_t last = 0;   // the newest id ever given; 0 before the first event
  };

  virtual ~EventReader() = default;

  // Thread-safe; reads memory only.
  virtual Range range() const = 0;

  // Up to `limit` events with id > after, oldest first. Thread-safe.
  // Errors: kUnavailable, kCorrupt.
  virtual Result<std::vector<LoggedEvent>> read(std::uint64_t after, std::size_t limit) const = 0;

  // `wake` is called after each append, on the appending thread; it must return at once.
  // An empty function ends it; no call is under way once this returns. One listener at a time.
  virtual void on_append(std::function<void()> wake) = 0;
};

}  // namespace coffer::chainstate
