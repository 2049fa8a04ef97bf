// The settings of the UTXO state, utxo.*; their names are those of the specification.
#pragma once

#include <span>

#include <coffer/utxo/options.h>
#include "config/keys.h"

namespace coffer::utxo {

struct IndexSettings {
  std::optional<bool> address_hash;  // nothing: as the strategy says, or else true
  std::optional<bool> payment_credential;
};

struct Settings {
  bool enabled = true;
  std::string store = "classic";
  std::uint64_t prune_depth = 2'160;
  std::uint64_t rollback_window = 4'320;
  std::uint64_t prune_batch_size = 500;
  IndexSettings index;
  std::string indexing_strategy;  // empty: the two flags decide
  bool self_contained_delta = false;
  std::string beyond_window = "refuse";
  std::uint64_t cache_mb = 384;
};

std::span<const config::Key> settings();

// Thread-safe. Errors: kUsage naming the settings that contradict each other (U1, U12).
Result<Options> options_of(const Settings& settings);
Result<> check_settings(const config::Config& config);

}  // namespace coffer::utxo
