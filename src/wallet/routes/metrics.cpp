#include "wallet/routes/metrics.h"

#include <coffer/base/log.h>

namespace coffer::wallet {
namespace {

using Duration = api::PeriodicTask::Duration;

// A hundredth of the time goes into counting, at most.
Duration pause_after(Duration taken) {
  return std::max<Duration>(std::chrono::seconds(5), 100 * taken);
}

}  // namespace

WalletMonitor::WalletMonitor(const wallet::Store& store, api::Metrics& metrics)
    : store_(store), metrics_(metrics) {
  collect_id_ = metrics_.on_collect([this](api::Metrics& m) { collect(m); });
  counter_.emplace([this](const auto&) { count(); }, pause_after);
}

WalletMonitor::~WalletMonitor() {
  metrics_.remove(collect_id_);
}

void WalletMonitor::count() {
  const auto found = store_.stats();
  // Once: a database that is away stays so for many rounds.
  if (!found && !failed_)
    log::warn("wallets could not be counted", {{"problem", found.error().message}});
  failed_ = !found;
  if (!found) return;
  std::lock_guard lock(mutex_);
  counted_ = *found;
}

void WalletMonitor::collect(api::Metrics& metrics) {
  std::optional<wallet::StoreStats> counted;
  {
    std::lock_guard lock(mutex_);
    counted = counted_;
  }
  if (!counted) return;
  const wallet::StoreStats& now = *counted;
  const auto set = [&](const char* name, const char* help, std::uint64_t value) {
    metrics.gauge(name, help).set(static_cast<double>(value));
  };
  set("coffer_wallet_wallets", "Wallets", now.wallets);
  set("coffer_wallet_addresses", "Scripts that are watched", now.addresses);
  set("coffer_wallet_transactions", "Transactions that are kept", now.transactions);
  set("coffer_wallet_coins", "Coins that are kept, spent ones too", now.coins);
  set("coffer_wallet_unspent", "Coins that nothing spends", now.unspent);
  set("coffer_wallet_leases", "Leases in the table, expired ones too", now.leases);
  set("coffer_wallet_active_leases", "Leases that have not expired", now.active_leases);
  set("coffer_wallet_replacements", "Transactions that another replaced", now.replacements);
  set("coffer_wallet_pruned", "Transactions that were pruned", now.pruned);
  set("coffer_wallet_database_bytes", "Size of the wallets' database", now.bytes);
  for (const wallet::TableSize& one : now.tables) {
    const api::Labels labels = {{"table", one.table}};
    metrics.gauge("coffer_wallet_table_rows", "Rows of a table, on PostgreSQL about", labels)
        .set(static_cast<double>(one.rows));
    if (one.bytes)
      metrics.gauge("coffer_wallet_table_bytes", "Size of a table with its indexes", labels)
          .set(static_cast<double>(*one.bytes));
  }
  const auto rise = [&](const char* name, const char* help, auto& shown, auto value) {
    metrics.counter(name, help).add(static_cast<double>(value - shown));
    shown = value;
  };
  rise("coffer_wallet_invalidations_total", "Transactions that became replaced or failed",
       shown_.invalidations, now.invalidations);
  rise("coffer_wallet_leases_cleaned_total", "Expired leases taken away", shown_.leases_cleaned,
       now.leases_cleaned);
  rise("coffer_wallet_lease_cleanups_total", "Passes that took expired leases away",
       shown_.lease_cleanups, now.lease_cleanups);
  rise("coffer_wallet_lease_cleanup_seconds_total", "Time spent in them",
       shown_.lease_cleanup_seconds, now.lease_cleanup_seconds);
}

}  // namespace coffer::wallet
