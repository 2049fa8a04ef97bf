// Blocks of a simulated chain in memory, for the commands that write or measure them.
#pragma once

#include <vector>

#include "cli/progress.h"
#include "feed/devnet_chain.h"

namespace coffer::node {

// The emissions up to the first block of a height; a reorg takes blocks of the best chain back.
inline std::vector<Bytes> simulate(feed::DevnetChain& chain, std::uint64_t height, bool with_stale,
                                   cli::ProgressBar* bar) {
  std::vector<Bytes> blocks;
  do {
    feed::Emission emission = chain.next();
    if (!with_stale) blocks.resize(blocks.size() - emission.rolled_back);
    blocks.push_back(std::move(emission.block));
    if (bar) bar->update(emission.height + 1);
  } while (chain.best().size() <= height);
  return blocks;
}

}  // namespace coffer::node
