// The wallets of a running node: database, store and feed, and what is to be done now and then:
// rescans, and taking away leases that have expired.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "app/rescan.h"
#include "config/config.h"

namespace coffer::app {

class WalletNode {
 public:
  // Errors: those of sql::Database::open and
  // wallet::Store::open.
  static Result<std::unique_ptr<WalletNode>> open(const config::Config& config,
                                                  const chain::Network& network,
                                                  const chainstate::ChainState& chain);
  ~WalletNode();

  wallet::Store& store() { return *store_; }
  wallet::Consumer& feed() { return *feed_; }

  // Starts the thread for what is to be done now and then.
  void start(std::function<Result<std::unique_ptr<feed::Source>>()> open_source);
  // Idempotent; waits for the thread.
  void stop();

  // Asks for a rescan, which the thread does. Thread-safe. Errors: kNotFound, kInvalidInput.
  Result<wallet::WalletInfo> request_rescan(std::string_view wallet,
                                            std::optional<std::uint64_t> from_height);

 private:
  WalletNode(const chain::Network& network, const chainstate::ChainState& chain)
      : network_(network), chain_(chain) {}
  void run(const std::function<Result<std::unique_ptr<feed::Source>>()>& open_source);
  void clean_leases();

  const chain::Network network_;
  const chainstate::ChainState& chain_;
  std::unique_ptr<sql::Database> database_;
  std::unique_ptr<wallet::Store> store_;
  std::unique_ptr<wallet::Consumer> feed_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // guards asked_, and stopping_ for the wait
  std::condition_variable wake_;
  feed::Source* rescan_source_ = nullptr;  // while a rescan uses it; guarded by mutex_
  bool asked_ = false;
  std::thread thread_;
};

}  // namespace coffer::app
