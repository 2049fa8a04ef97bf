// Looks at old blocks again for one wallet, from a source of its own, beside the follower.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "chainstate/chain_state.h"
#include "feed/source.h"
#include "wallet/sync/consumer.h"

namespace coffer::app {

struct RescanTools {
  const chain::Network& network;
  const chainstate::ChainState& chain;
  wallet::Store& store;
  wallet::Consumer& feed;
  std::function<Result<std::unique_ptr<feed::Source>>()> open_source;
  const std::atomic<bool>& stopping;
  std::function<void(std::uint64_t height, std::uint64_t to)> progress;  // may be empty
  // Told of the source while it is in use, then of none, so that another thread can interrupt it;
  // may be empty.
  std::function<void(feed::Source*)> on_source = nullptr;
};

struct Rescanned {
  std::uint64_t blocks = 0, changed = 0;
};

// Goes on with the wallet's requested rescan until it is done; how far it is, is saved on the way.
// Errors: kCancelled when stopping; kUnavailable, retryable, if the chain changed its branch under
// it; those of the source and of the store.
Result<Rescanned> run_rescan(const RescanTools& tools, const wallet::WalletInfo& asked);

}  // namespace coffer::app
