// What a running node does for wallets now and then, on a thread of its own: rescans that somebody
// asked for, and taking away leases that have expired.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "wallet/sync/rescan_runner.h"

namespace coffer::wallet {

struct MaintenanceOptions {
  std::function<Result<std::unique_ptr<bus::BlockReader>>()> open_blocks;
  std::function<Result<std::optional<Hash256>>(std::uint64_t height)> block_at;  // on the chain now
};

class Maintenance {
 public:
  // Both outlive it. The thread begins with start().
  Maintenance(Store& store, Consumer& consumer, MaintenanceOptions options)
      : store_(store), consumer_(consumer), options_(std::move(options)) {}
  ~Maintenance() { stop(); }

  void start();
  // Idempotent; interrupts a rescan and waits for the thread.
  void stop();

  // Asks for a rescan, which the thread does. Thread-safe. Errors: kNotFound, kInvalidInput.
  Result<WalletInfo> request_rescan(std::string_view wallet,
                                    std::optional<std::uint64_t> from_height);
  // Does the rescan on this thread instead; without start(). Errors: those of run_rescan().
  Result<Rescanned> rescan_now(std::string_view wallet, std::optional<std::uint64_t> from_height,
                               const std::function<void(std::uint64_t, std::uint64_t)>& progress);

 private:
  void run();
  void clean_leases();
  RescanTools tools(std::function<void(std::uint64_t, std::uint64_t)> progress);

  Store& store_;
  Consumer& consumer_;
  const MaintenanceOptions options_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // guards asked_ and reader_, and stopping_ for the wait
  std::condition_variable wake_;
  bus::BlockReader* reader_ = nullptr;  // while a rescan uses it
  bool asked_ = false;
  std::thread thread_;
};

}  // namespace coffer::wallet
