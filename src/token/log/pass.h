// One pass of the sequencer (T12): takes committed rows out of the outbox, gives them the next
// positions of the log and stores nodes, root and checkpoint, in one transaction. Invariant: the
// row lock of log_head makes one pass at a time, so positions have no gap and no row is taken
// twice; what was not committed yet is seen by a later pass.
#pragma once

#include "token/log/checkpoint.h"

namespace coffer::token {

struct PassOptions {
  std::size_t max_entries = 10'000;
  // While passes are full, a checkpoint at most this often.
  std::int64_t checkpoint_interval_ms = 1'000;
};

struct Pass {
  bool is_busy = false;  // another sequencer is at it; nothing was done
  bool is_full = false;  // there may be more
  std::size_t entries = 0;
  std::uint64_t size = 0;  // of the log afterwards
  std::optional<Checkpoint> checkpoint;
};

// Thread-safe, and safe beside other processes. Without a key nothing is signed. Doing it again
// after an unknown commit is harmless. Errors: those of sql::Database; kCorrupt.
Result<Pass> run_pass(const Community& community, const crypto::Ed25519Key* key,
                      const PassOptions& options = {});

// Whether a pass would do something. A cheap read.
Result<bool> is_pass_due(const Community& community, bool has_key);

}  // namespace coffer::token
