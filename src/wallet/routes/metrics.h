// The metrics of the wallets: how much is there, leases, what was cleaned and invalidated. Never an
// amount: whoever reads metrics need not know what somebody owns.
// Counting takes queries over whole tables, so a thread of its own does it now and then; reading
// metrics never waits for the database.
#pragma once

#include <mutex>
#include <optional>

#include <coffer/wallet/store.h>
#include "api/metrics.h"
#include "api/periodic_task.h"

namespace coffer::wallet {

class WalletMonitor {
 public:
  // Both outlive it. Counts at once, and then every few seconds; the longer it takes the less
  // often.
  WalletMonitor(const wallet::Store& store, api::Metrics& metrics);
  // Waits for a count under way.
  ~WalletMonitor();
  WalletMonitor(const WalletMonitor&) = delete;
  WalletMonitor& operator=(const WalletMonitor&) = delete;

  // The last count; nothing before the first. Thread-safe.
  std::optional<wallet::StoreStats> counted() const {
    std::lock_guard lock(mutex_);
    return counted_;
  }

 private:
  void collect(api::Metrics& metrics);
  void count();

  const wallet::Store& store_;
  api::Metrics& metrics_;
  wallet::StoreStats shown_;  // what the counters show already; of the thread that reads metrics
  bool failed_ = false;       // the last count, which the log has; of the counting thread
  mutable std::mutex mutex_;  // guards counted_
  std::optional<wallet::StoreStats> counted_;
  std::size_t collect_id_ = 0;
  std::optional<api::PeriodicTask> counter_;
};

}  // namespace coffer::wallet
