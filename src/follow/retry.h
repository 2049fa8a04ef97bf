// When to ask a source again, and when to give up (E14): a source may be wrong for a while, so that
// only what it says again and again counts. Pure: no clock, no threads.
#pragma once

#include <coffer/follow/follower.h>

namespace coffer::follow {

struct RetryDecision {
  bool give_up = false;
  int pause_ms = 0;
  bool tell = false;  // worth a line in the log: not each of thousands of attempts is
};

class Retry {
 public:
  explicit Retry(RetryOptions options) : options_(options), pause_ms_(options.first_pause_ms) {}

  // `progressed`: a block came since the failure before.
  RetryDecision failed(const Error& error, bool progressed);
  int attempts() const { return attempts_; }  // that failed in a row

 private:
  const RetryOptions options_;
  int pause_ms_;
  int attempts_ = 0, bad_answers_ = 0, conflicts_ = 0;
  std::string told_;
};

}  // namespace coffer::follow
