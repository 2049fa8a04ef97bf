// The metrics of the UTXO state (003), and the number of distinct addresses, which takes a walk
// over the index and is therefore counted now and then on a thread of its own.
#pragma once

#include <mutex>
#include <optional>

#include <coffer/utxo/store.h>
#include "api/metrics.h"
#include "api/periodic_task.h"

namespace coffer::utxo {

class UtxoMonitor {
 public:
  // Both outlive it. Addresses are counted at once, and then again and again: every few seconds
  // while that takes a few milliseconds, every five minutes or still less often when it takes long.
  UtxoMonitor(const utxo::Store& store, api::Metrics& metrics);
  // Breaks off a count under way.
  ~UtxoMonitor();
  UtxoMonitor(const UtxoMonitor&) = delete;
  UtxoMonitor& operator=(const UtxoMonitor&) = delete;

  // Nothing until they were counted, or without the index. Thread-safe.
  std::optional<std::uint64_t> addresses() const;

 private:
  void collect(api::Metrics& metrics);
  void count(const std::function<bool()>& go_on);

  const utxo::Store& store_;
  api::Metrics& metrics_;
  // What the counters show already; of the thread that reads metrics.
  utxo::Stats shown_;
  utxo::Timings shown_timings_;
  mutable std::mutex mutex_;  // guards addresses_
  std::optional<std::uint64_t> addresses_;
  std::size_t collect_id_ = 0;
  std::optional<api::PeriodicTask> counter_;
};

}  // namespace coffer::utxo
