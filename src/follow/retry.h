// When to ask a source again, and when to give up (E14): a source may be wrong for a while, so that
// only what it says again and again counts. Pure: no clock, no threads.
#pragma once

#include "base/error.h"

namespace coffer::follow {

struct RetryOptions {
  int first_pause_ms = 1'000;  // after a failure; doubles up to the longest
  int longest_pause_ms = 10'000;
  // Failures in a row after which to give up although the source can be reached: answers that do
  // not check, refused credentials. 0: never.
  int max_bad_answers = 3;
  // The same for proof that the source's chain is another than ours (kConflict).
  int max_conflicts = 3;
};

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
