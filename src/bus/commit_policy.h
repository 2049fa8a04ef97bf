// When a consumer commits the blocks that it holds back (E2). The rule is the same for all of them:
// blocks may be held while they lie below the rollback window or the source has more, and a commit
// never holds blocks from both sides of the window's line. Only the budgets differ. Pure: it keeps
// no state of its own.
#pragma once

#include <limits>

#include <coffer/bus/event.h>

namespace coffer::bus {

struct CommitBudget {
  std::size_t blocks = std::numeric_limits<std::size_t>::max();
  std::size_t bytes = std::numeric_limits<std::size_t>::max();
  // How many of the newest blocks of the source this consumer can undo. Nothing: the line is the
  // one that the follower draws, BlockApplied::below_window.
  std::optional<std::uint64_t> window = {};
};

// What a consumer holds back: applied, not committed.
struct HeldBlocks {
  std::size_t blocks = 0;
  std::size_t bytes = 0;
  bool below_window = false;  // all of them, or none; meaningless without blocks
};

class CommitPolicy {
 public:
  explicit CommitPolicy(CommitBudget budget) : budget_(budget) {}

  // Whether no rollback can reach the block.
  bool is_below_window(const BlockApplied& block) const;
  // Whether what is held must be committed before `next` is added to it.
  bool must_commit_before(const HeldBlocks& held, const BlockApplied& next) const;
  // Whether what is held, `newest` included, must be committed now.
  bool must_commit_after(const HeldBlocks& held, const BlockApplied& newest) const;

 private:
  const CommitBudget budget_;
};

}  // namespace coffer::bus
