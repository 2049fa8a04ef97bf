// The options of a simulated chain for a data directory. Block times of a paced chain begin near
// the present; when that was is kept in the directory, because the chain must be the same after a
// restart.
#pragma once

#include "config/config.h"
#include "feed/devnet_source.h"

namespace coffer::node {

// Errors: kUnavailable (the file cannot be written), kCorrupt (it cannot be read).
Result<feed::DevnetOptions> devnet_options(const config::Config& config, bool paced,
                                           const Clock& clock);

// Blocks that a paced chain has at once when it is new, so that there is something to see.
inline constexpr std::uint64_t kDevnetPremine = 150;

}  // namespace coffer::node
