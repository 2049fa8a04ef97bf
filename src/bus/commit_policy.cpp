#include "bus/commit_policy.h"

namespace coffer::bus {

bool CommitPolicy::is_below_window(const BlockApplied& block) const {
  return budget_.window ? block.behind >= *budget_.window : block.below_window;
}

bool CommitPolicy::must_commit_before(const HeldBlocks& held, const BlockApplied& next) const {
  return held.blocks > 0 && held.below_window != is_below_window(next);
}

bool CommitPolicy::must_commit_after(const HeldBlocks& held, const BlockApplied& newest) const {
  const bool may_hold = is_below_window(newest) || newest.behind > 0;
  return !may_hold || held.blocks >= budget_.blocks || held.bytes >= budget_.bytes;
}

}  // namespace coffer::bus
