#include "follow/retry.h"

#include <algorithm>
#include <bit>

namespace coffer::follow {

RetryDecision Retry::failed(const Error& error, bool progressed) {
  if (progressed) {
    attempts_ = bad_answers_ = conflicts_ = 0;
    pause_ms_ = options_.first_pause_ms;
  }
  ++attempts_;
  conflicts_ = error.code == Code::kConflict ? conflicts_ + 1 : 0;
  bad_answers_ = error.retryable ? 0 : bad_answers_ + 1;
  RetryDecision decision;
  decision.give_up = conflicts_ >= options_.max_conflicts ||
                     (options_.max_bad_answers > 0 && bad_answers_ >= options_.max_bad_answers);
  decision.pause_ms = pause_ms_;
  // The first of its kind, then ever more rarely.
  decision.tell = error.message != told_ || std::has_single_bit(static_cast<unsigned>(attempts_));
  told_ = error.message;
  pause_ms_ = std::min(2 * pause_ms_, options_.longest_pause_ms);
  return decision;
}

}  // namespace coffer::follow
