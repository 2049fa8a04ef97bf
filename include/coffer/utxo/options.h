// The settings of the UTXO state, by the names of 003 (utxo.pruneDepth and so on).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>

#include <coffer/base/result.h>

namespace coffer::utxo {

enum class StoreType : std::uint8_t { kClassic, kMmr };
std::string_view to_string(StoreType type);                   // "classic", "mmr"
std::ostream& operator<<(std::ostream& out, StoreType type);  // the same, for tests

// What a rollback beyond the window does (U2).
enum class BeyondWindow : std::uint8_t {
  kRefuse,   // an error; nothing changes
  kPartial,  // undoes what it can; outputs spent before the window stay spent. Not on mmr.
};

struct Options {
  StoreType store = StoreType::kClassic;
  std::uint64_t prune_depth = 2160;      // blocks for which a spent output is remembered
  std::uint64_t rollback_window = 4320;  // blocks that can be undone; at least prune_depth
  std::uint64_t prune_batch_size = 500;  // records that a block's pruning looks at, at least
  bool index_address = true;
  bool index_credential = true;
  bool self_contained_delta = false;  // deltas hold whole records, not only outpoints
  BeyondWindow beyond_window = BeyondWindow::kRefuse;
  std::uint64_t cache_bytes = 384u << 20;  // held back before a commit, while catching up
  bool log_rollbacks = true;               // off where a progress line would be torn apart
};

// Errors: kUsage if the settings contradict each other (U1).
Result<> check(const Options& options);

}  // namespace coffer::utxo
