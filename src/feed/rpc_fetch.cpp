#include "feed/rpc_fetch.h"
#include "base/result.h"

namespace coffer::feed {

RpcFetch::RpcFetch(const RpcEndpoint& endpoint, std::uint64_t first, std::uint64_t last,
                   Options options)
    : last_(last), options_(options), next_(first), claimed_(first) {
  const std::size_t count = std::min<std::uint64_t>(options_.connections, last - first + 1);
  for (std::size_t i = 0; i < count; ++i) clients_.emplace_back(endpoint, options_);
  for (Clients& clients : clients_) workers_.emplace_back([this, &clients] { work(clients); });
}

RpcFetch::~RpcFetch() {
  cancel();
  for (std::thread& worker : workers_) worker.join();
}

void RpcFetch::cancel() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (Clients& clients : clients_) {
    clients.rpc.cancel();
    clients.rest.cancel();
  }
}

// Either the branch changed between the two calls, or the node has pruned the block.
Result<RpcFetch::Fetched> RpcFetch::block_is_missing(Clients& clients, std::uint64_t height,
                                                     const Hash256& hash, const Error& refusal) {
  if (TRY(clients.rpc.block_hash(height)) != hash) return fail(refusal);
  // Asking again soon does not bring it back.
  return fail(
      Error{Code::kUnavailable, false,
            fmt::format("the node no longer has block {} ({}): {}; use a source that has "
                        "it, such as an unpruned node, or block files with file: or blkdir:",
                        height, chain::display(chain::Family::kBitcoin, hash), refusal.message)});
}

Result<RpcFetch::Fetched> RpcFetch::fetch(Clients& clients, std::uint64_t height) {
  std::optional<Hash256> hash = clients.rest.block_hash(height);
  if (!hash) hash = TRY(clients.rpc.block_hash(height));
  if (!hash) return fail(Error{Code::kNotFound, true, "the node's chain became shorter meanwhile"});
  std::optional<Bytes> raw = clients.rest.block(*hash);
  if (!raw) {
    auto answer = clients.rpc.block(*hash);
    if (!answer && answer.error().code == Code::kNotFound)
      return block_is_missing(clients, height, *hash, answer.error());
    raw = TRY(std::move(answer));
  }
  return Fetched{*hash, std::move(*raw)};
}

void RpcFetch::work(Clients& clients) {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(
        lock, [&] { return is_over() || claimed_ > last_ || claimed_ < next_ + options_.ahead; });
    if (is_over() || claimed_ > last_) return;
    const std::uint64_t height = claimed_++;
    ++under_way_;
    lock.unlock();
    Result<Fetched> block = fetch(clients, height);
    lock.lock();
    --under_way_;
    if (!block && block.error().code == Code::kCancelled) return changed_.notify_all();
    if (!block) failed_ = true;  // what comes after it is of no use
    fetched_.emplace(height, std::move(block));
    changed_.notify_all();
  }
}

Result<std::optional<RpcFetch::Fetched>> RpcFetch::take(int timeout_ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                    [&] { return fetched_.contains(next_) || stopping_ || has_ended(); });
  auto found = fetched_.find(next_);
  if (found == fetched_.end()) {
    // One that comes later failed, and this one was never begun.
    if (has_ended())
      for (auto& [height, block] : fetched_)
        if (!block) return fail(block.error());
    return std::nullopt;
  }
  Result<Fetched> block = std::move(found->second);
  fetched_.erase(found);
  if (!block) return fail(std::move(block).error());
  ++next_;
  changed_.notify_all();
  return std::move(*block);
}

}  // namespace coffer::feed
