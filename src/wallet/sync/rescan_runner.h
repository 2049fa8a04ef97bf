// Looks at old blocks again for one wallet, beside the consumer that follows the chain.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include <coffer/wallet/consumer.h>
#include "bus/block_reader.h"

namespace coffer::wallet {

struct RescanTools {
  Store& store;
  Consumer& consumer;
  std::function<Result<std::unique_ptr<bus::BlockReader>>()> open_blocks;
  std::function<Result<std::optional<Hash256>>(std::uint64_t height)> block_at;  // on the chain now
  const std::atomic<bool>& stopping;
  std::function<void(std::uint64_t height, std::uint64_t to)> progress = nullptr;
  // Told of the reader while it is in use, then of none, so that another thread can interrupt it.
  std::function<void(bus::BlockReader*)> on_reader = nullptr;
};

struct Rescanned {
  std::uint64_t blocks = 0, changed = 0;
};

// Goes on with the wallet's requested rescan until it is done; how far it is, is saved on the way.
// Errors: kCancelled when stopping; kUnavailable, retryable, if the chain changed its branch under
// it; those of the reader and of the store.
Result<Rescanned> run_rescan(const RescanTools& tools, const WalletInfo& asked);

}  // namespace coffer::wallet
