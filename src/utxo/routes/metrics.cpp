#include "utxo/routes/metrics.h"

#include <coffer/base/log.h>

namespace coffer::utxo {
namespace {

using Duration = api::PeriodicTask::Duration;

// A thousandth of the time goes into counting; of a large set, which takes long, a twentieth at
// the very most.
Duration pause_after_count(Duration taken) {
  const Duration shortest = std::chrono::seconds(5), usual = std::chrono::minutes(5);
  return std::max({shortest, std::min(1000 * taken, usual), 20 * taken});
}

}  // namespace

UtxoMonitor::UtxoMonitor(const utxo::Store& store, api::Metrics& metrics)
    : store_(store), metrics_(metrics) {
  collect_id_ = metrics_.on_collect([this](api::Metrics& m) { collect(m); });
  if (store_.state().indexes_addresses())
    counter_.emplace([this](const auto& go_on) { count(go_on); }, pause_after_count);
}

UtxoMonitor::~UtxoMonitor() {
  metrics_.remove(collect_id_);
}

std::optional<std::uint64_t> UtxoMonitor::addresses() const {
  std::lock_guard lock(mutex_);
  return addresses_;
}

void UtxoMonitor::count(const std::function<bool()>& go_on) {
  const auto found = store_.state().count_addresses(go_on);
  if (found) {
    std::lock_guard lock(mutex_);
    addresses_ = *found;
  } else if (found.error().code != Code::kCancelled) {
    log::warn("addresses could not be counted", {{"problem", found.error().message}});
  }
}

void UtxoMonitor::collect(api::Metrics& metrics) {
  const auto stats = store_.state().stats();
  if (!stats) return;  // what cannot be read now keeps its last value
  const utxo::Stats& now = *stats;
  const auto rise = [&](const char* name, const char* help, auto& shown, auto value) {
    metrics.counter(name, help).add(static_cast<double>(value - shown));
    shown = value;
  };
  rise("coffer_utxo_created_total", "Outputs made", shown_.created, now.created);
  rise("coffer_utxo_spent_total", "Outputs spent", shown_.spent, now.spent);
  rise("coffer_utxo_pruned_total", "Old records cleared away", shown_.pruned, now.pruned);
  rise("coffer_utxo_reversed_total", "Changes undone by rollbacks", shown_.reversed, now.reversed);
  rise("coffer_utxo_missing_inputs_total", "Inputs that spend what was not there",
       shown_.missing_inputs, now.missing_inputs);
  rise("coffer_utxo_unspendable_total", "Outputs that nobody can spend, not stored",
       shown_.unspendable, now.unspendable);

  const utxo::Timings timings = store_.timings();
  utxo::Timings& shown = shown_timings_;
  rise("coffer_utxo_applied_blocks_total", "Blocks applied", shown.blocks, timings.blocks);
  rise("coffer_utxo_apply_seconds_total", "Time spent applying blocks", shown.apply_seconds,
       timings.apply_seconds);
  rise("coffer_utxo_rollbacks_total", "Rollbacks", shown.rollbacks, timings.rollbacks);
  rise("coffer_utxo_rollback_seconds_total", "Time spent in rollbacks", shown.rollback_seconds,
       timings.rollback_seconds);
  rise("coffer_utxo_prunes_total", "Passes of pruning", shown.prunes, timings.prunes);
  rise("coffer_utxo_prune_seconds_total", "Time spent pruning", shown.prune_seconds,
       timings.prune_seconds);

  const auto set = [&](const char* name, const char* help, auto value) {
    metrics.gauge(name, help).set(static_cast<double>(value));
  };
  set("coffer_utxo_unspent", "Unspent outputs", now.unspent);
  set("coffer_utxo_coin", "Their value in the chain's smallest unit, rounded to 53 bits",
      now.amount);
  set("coffer_utxo_rollback_blocks", "Blocks that can be undone now", now.rollback_blocks);
  set("coffer_utxo_deltas", "Blocks whose changes are kept", now.deltas);
  if (const auto counted = addresses())
    set("coffer_utxo_addresses", "Distinct addresses with unspent outputs, when last counted",
        *counted);
  if (now.store != utxo::StoreType::kMmr) return;
  set("coffer_utxo_mmr_leaves", "Leaves of the accumulator", now.leaves);
  // A label would make a series a block; six bytes fit a number exactly and tell two roots apart.
  if (const auto root = store_.state().root())
    set("coffer_utxo_mmr_root_prefix", "The first 48 bits of the newest root",
        load_be64(root->root.data()) >> 16);
}

}  // namespace coffer::utxo
