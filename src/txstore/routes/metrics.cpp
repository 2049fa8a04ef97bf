#include "txstore/routes/metrics.h"

#include <coffer/base/log.h>

namespace coffer::txstore {
namespace {

using Pause = api::PeriodicTask::Duration;

// A hundredth of the time goes into counting, at most.
Pause pause_after_stats(Pause taken) {
  return std::max<Pause>(std::chrono::seconds(5), 100 * taken);
}

void set_gauges(api::Metrics& metrics, const Stats& stats) {
  const auto set = [&](const char* name, const char* help, auto value) {
    metrics.gauge(name, help).set(static_cast<double>(value));
  };
  const Counts& counts = stats.counts;
  set("coffer_txstore_records", "Stored transactions", counts.records);
  set("coffer_txstore_bytes", "Bytes of stored transactions", counts.bytes);
  set("coffer_txstore_unmined", "Transactions that no block of the longest chain has",
      counts.unmined);
  set("coffer_txstore_conflicting", "Transactions that conflict with the chain",
      counts.conflicting);
  set("coffer_txstore_final_entries", "Outputs whose spender was final and may be deleted",
      counts.final_entries);
  set("coffer_txstore_final_height", "No block at or below it can be undone; -1: none yet",
      stats.tip.final_height < 0 ? -1 : stats.tip.final_height);
  set("coffer_txstore_oldest_overdue_blocks",
      "Blocks since the oldest transaction that is kept could have gone", stats.oldest_overdue);
  set("coffer_txstore_parents_missing",
      "Inputs of blocks whose parent was not stored, since the store began", counts.parent_missing);
  for (std::size_t i = 1; i < retention::kReasons; ++i)
    metrics
        .gauge("coffer_txstore_overdue_kept", "Transactions whose time has come but are kept",
               {{"reason", std::string(to_string(static_cast<retention::Reason>(i)))}})
        .set(static_cast<double>(counts.kept[i]));
}

}  // namespace

TxMonitor::TxMonitor(const Store& store, api::Metrics& metrics, bool in_background)
    : store_(store), metrics_(metrics), in_background_(in_background) {
  collect_id_ = metrics_.on_collect([this](api::Metrics& m) { collect(m); });
  if (in_background_) counter_.emplace([this](const auto&) { count(); }, pause_after_stats);
}

TxMonitor::~TxMonitor() {
  metrics_.remove(collect_id_);
}

std::optional<Stats> TxMonitor::stats() const {
  if (!in_background_) {
    const auto now = store_.stats();
    return now ? std::optional(*now) : std::nullopt;
  }
  std::lock_guard lock(mutex_);
  return counted_;
}

void TxMonitor::count() {
  const auto found = store_.stats();
  // Once: a database that is away stays so for many rounds.
  if (!found && !failed_)
    log::warn("stored transactions could not be counted", {{"problem", found.error().message}});
  failed_ = !found;
  if (!found) return;
  std::lock_guard lock(mutex_);
  counted_ = *found;
}

void TxMonitor::collect(api::Metrics& metrics) {
  if (const auto now = stats()) set_gauges(metrics, *now);  // else they keep their last values
  const CounterTotals now = store_.counters();
  const auto rise = [&](const char* name, const char* help, auto& shown, auto value) {
    metrics.counter(name, help).add(static_cast<double>(value - shown));
    shown = value;
  };
  rise("coffer_txstore_deleted_total", "Transactions deleted", shown_.deleted, now.deleted);
  rise("coffer_txstore_kept_total", "Transactions that cleanup looked at and kept", shown_.kept,
       now.kept);
  rise("coffer_txstore_children_read_total", "Spenders that cleanup read", shown_.children_read,
       now.children_read);
  rise("coffer_txstore_marked_final_total", "Outputs marked as spent by a final transaction",
       shown_.marked_final, now.marked_final);
  rise("coffer_txstore_parent_missing_total", "Inputs of blocks whose parent was not stored",
       shown_.parent_missing, now.parent_missing);
  rise("coffer_txstore_overrides_total",
       "Rivals, frozen outputs and locked transactions that a block overrode", shown_.overrides,
       now.overrides);
  rise("coffer_txstore_conflicted_total", "Transactions that became conflicting", shown_.conflicted,
       now.conflicted);
  rise("coffer_txstore_seen_total", "Transactions taken from the mempool", shown_.seen, now.seen);
  rise("coffer_txstore_waited_total", "Transactions that waited for a parent", shown_.waiting,
       now.waiting);
  rise("coffer_txstore_applied_blocks_total", "Blocks applied", shown_.blocks, now.blocks);
  rise("coffer_txstore_apply_seconds_total", "Time spent applying blocks", shown_.apply_seconds,
       now.apply_seconds);
  rise("coffer_txstore_cleanup_seconds_total", "Time spent in passes of cleanup",
       shown_.cleanup_seconds, now.cleanup_seconds);
  rise("coffer_txstore_rollbacks_total", "Rollbacks", shown_.rollbacks, now.rollbacks);
  rise("coffer_txstore_rollback_seconds_total", "Time spent in rollbacks", shown_.rollback_seconds,
       now.rollback_seconds);
}

}  // namespace coffer::txstore
