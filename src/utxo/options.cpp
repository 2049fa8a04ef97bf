#include <coffer/utxo/options.h>
#include "base/result.h"

#include <ostream>

namespace coffer::utxo {

std::string_view to_string(StoreType type) {
  return type == StoreType::kMmr ? "mmr" : "classic";
}

std::ostream& operator<<(std::ostream& out, StoreType type) {
  return out << to_string(type);
}

Result<> check(const Options& options) {
  if (options.prune_depth > options.rollback_window)
    return fail(Code::kUsage,
                "utxo.pruneDepth ({}) must not be larger than utxo.rollbackWindow ({}): deltas, "
                "which drive pruning, are kept for the window only",
                options.prune_depth, options.rollback_window);
  if (options.store == StoreType::kMmr && options.beyond_window == BeyondWindow::kPartial)
    return fail(Code::kUsage,
                "utxo.rollback.beyondWindow = partial needs utxo.store = classic: a proof needs "
                "the exact set");
  return {};
}

}  // namespace coffer::utxo
