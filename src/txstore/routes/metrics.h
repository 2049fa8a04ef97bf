// The metrics of the transaction store. What RocksDB holds is read at once; a SQL database is asked
// by a thread of its own now and then, so that reading metrics never waits for it (E13).
#pragma once

#include <mutex>
#include <optional>

#include <coffer/txstore/store.h>
#include "api/metrics.h"
#include "api/periodic_task.h"

namespace coffer::txstore {

class TxMonitor {
 public:
  // Both outlive it.
  TxMonitor(const Store& store, api::Metrics& metrics, bool in_background);
  // Waits for a count under way.
  ~TxMonitor();
  TxMonitor(const TxMonitor&) = delete;
  TxMonitor& operator=(const TxMonitor&) = delete;

  // As of now, or as of the last count; nothing before the first. Thread-safe.
  std::optional<Stats> stats() const;

 private:
  void collect(api::Metrics& metrics);
  void count();

  const Store& store_;
  api::Metrics& metrics_;
  const bool in_background_;
  CounterTotals shown_;       // what the counters show already; of the thread that reads metrics
  bool failed_ = false;       // the last count, which the log has; of the counting thread
  mutable std::mutex mutex_;  // guards counted_
  std::optional<Stats> counted_;
  std::size_t collect_id_ = 0;
  std::optional<api::PeriodicTask> counter_;
};

}  // namespace coffer::txstore
