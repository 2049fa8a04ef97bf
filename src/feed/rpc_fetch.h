// Fetches a range of heights from a node on several connections, and hands the blocks out in order.
// Invariant: no more than `ahead` blocks are fetched and not taken yet.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "feed/rpc_rest.h"

namespace coffer::feed {

class RpcFetch {
 public:
  struct Options {
    std::size_t connections = 4;
    std::size_t ahead = 16;
    int timeout_ms = 30'000;
    bool rest = false;  // the node offers it
  };
  struct Fetched {
    Hash256 hash{};
    Bytes raw;
  };

  // Starts at once, from `first` through `last`.
  RpcFetch(const RpcEndpoint& endpoint, std::uint64_t first, std::uint64_t last, Options options);
  // Cuts the calls under way.
  ~RpcFetch();
  RpcFetch(const RpcFetch&) = delete;
  RpcFetch& operator=(const RpcFetch&) = delete;

  // The next block in order; nothing within the time, or after cancel(). One thread takes.
  // Errors: those of RpcClient, after which there is nothing more; kNotFound means that the chain
  // changed meanwhile, kUnavailable (not retryable) that the node has pruned the block.
  Result<std::optional<Fetched>> take(int timeout_ms);
  bool done() const { return next_ > last_; }
  // Thread-safe; ends a wait in take() and the calls under way.
  void cancel();

 private:
  struct Clients {
    Clients(const RpcEndpoint& endpoint, const Options& options)
        : rpc(endpoint, options.timeout_ms), rest(endpoint, options.timeout_ms, options.rest) {}
    RpcClient rpc;
    RestClient rest;
  };
  // Both with the lock held.
  bool is_over() const { return stopping_ || failed_; }
  bool has_ended() const { return failed_ && under_way_ == 0; }
  void work(Clients& clients);
  static Result<Fetched> fetch(Clients& clients, std::uint64_t height);
  static Result<Fetched> block_is_missing(Clients& clients, std::uint64_t height,
                                          const Hash256& hash, const Error& refusal);

  const std::uint64_t last_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_;         // to be taken; written by the taking thread only
  std::uint64_t claimed_;      // the next that a worker starts
  std::size_t under_way_ = 0;  // claimed and not fetched yet
  bool failed_ = false;        // one of them failed: nothing more is begun
  bool stopping_ = false;
  std::map<std::uint64_t, Result<Fetched>> fetched_;
  std::deque<Clients> clients_;  // one a worker
  std::vector<std::thread> workers_;
};

}  // namespace coffer::feed
