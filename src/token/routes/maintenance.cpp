#include "token/routes/maintenance.h"

#include <coffer/base/log.h>
#include "base/result.h"
#include "token/log/key.h"
#include "token/log/log.h"
#include "token/partitions.h"
#include "token/query/counts.h"

namespace coffer::token {
namespace {

using Duration = api::PeriodicTask::Duration;
using std::chrono::milliseconds;

void set_gauge(api::Metrics& metrics, const std::string& community, const char* name,
               const char* help, double value) {
  metrics.gauge(name, help, {{"community", community}}).set(value);
}

void show_statistics(api::Metrics& metrics, const std::string& community, const Statistics& now) {
  const auto set = [&](const char* name, const char* help, std::int64_t value) {
    set_gauge(metrics, community, name, help, static_cast<double>(value));
  };
  set("coffer_token_transactions", "Transactions of the community", now.transactions);
  set("coffer_token_users", "Users that are not deleted", now.users);
  set("coffer_token_issued", "Tokens ever issued", now.issuance);
  set("coffer_token_circulation", "Tokens in wallets of users", now.circulation);
  set("coffer_token_system_pool", "Tokens in system wallets", now.pool);
}

void show_counts(api::Metrics& metrics, const std::string& community, const LedgerCounts& now) {
  const auto set = [&](const char* name, const char* help, double value) {
    set_gauge(metrics, community, name, help, value);
  };
  set("coffer_token_wallets", "Wallets", static_cast<double>(now.wallets));
  set("coffer_token_frozen_wallets", "Frozen wallets", static_cast<double>(now.frozen_wallets));
  set("coffer_token_frozen_balance", "Tokens in frozen wallets",
      static_cast<double>(now.frozen_balance));
  set("coffer_token_system_wallet_changes", "Changes of the balances of system wallets",
      static_cast<double>(now.system_wallet_changes));
}

}  // namespace

Maintenance::Maintenance(Communities& communities, const config::Config& config,
                         api::Metrics& metrics, const Clock& clock, MaintenanceOptions options)
    : communities_(communities),
      config_(config),
      metrics_(metrics),
      clock_(clock),
      options_(options) {
  const auto pause = [ms = options.watch_ms](Duration) -> Duration { return milliseconds(ms); };
  watcher_.emplace([this](const Work& go_on) { watch(go_on); }, pause);
  // A hundredth of the time goes into counting, at most.
  const auto rarely = [ms = options.watch_ms](Duration taken) -> Duration {
    return std::max<Duration>(milliseconds(ms), 100 * taken);
  };
  counter_.emplace([this](const Work& go_on) { count(go_on); }, rarely);
}

Maintenance::~Maintenance() = default;

Maintenance::Kept& Maintenance::kept(const std::string& community) {
  return kept_[community];
}

void Maintenance::note(const std::string& community, std::string_view what, const Result<>& done) {
  std::lock_guard lock(mutex_);
  Kept& now = kept(community);
  const std::string problem = done ? "" : fmt::format("{}: {}", what, done.error().message);
  // Once: a database that is away stays so for many rounds.
  if (!problem.empty() && problem != now.problem)
    log::error("maintenance of a community failed",
               {{"community", community}, {"problem", problem}});
  now.problem = problem;
}

void Maintenance::start_sequencer(Store& store) {
  const std::string& name = store.community();
  auto key = open_log_key(store.ledger(), config_.data_dir);
  if (!key || !*key)
    log::warn("the log of a community gets no checkpoints",
              {{"community", name},
               {"problem", key ? "its key is missing" : key.error().message},
               {"next", "put " + log_key_file(config_.data_dir, name).string() + " back"}});
  auto sequencer = std::make_unique<Sequencer>(
      store.ledger(), key ? std::move(*key) : std::optional<crypto::Ed25519Key>());
  std::lock_guard lock(mutex_);
  kept(name).sequencer = std::move(sequencer);
}

void Maintenance::show_log(const std::string& community, const Kept& now) {
  set_gauge(metrics_, community, "coffer_token_unlogged",
            "Changes that are not in the tamper-evident log yet",
            static_cast<double>(now.unlogged));
  set_gauge(metrics_, community, "coffer_token_unlogged_age_seconds",
            "Age of the oldest change that is not in the log yet",
            static_cast<double>(now.delay_ms) / 1000.0);
}

void Maintenance::show_groups(const Store& store) {
  const std::string& name = store.community();
  const Store::GroupStats now = store.group_stats();
  set_gauge(metrics_, name, "coffer_token_waiting_transfers", "Transfers that wait to be decided",
            static_cast<double>(now.waiting));
  Store::GroupStats& shown = kept(name).groups;
  const auto rise = [&](const char* metric, const char* help, std::uint64_t& before,
                        std::uint64_t value) {
    metrics_.counter(metric, help, {{"community", name}}).add(static_cast<double>(value - before));
    before = value;
  };
  rise("coffer_token_groups_total", "Groups of transfers that were committed together",
       shown.groups, now.groups);
  rise("coffer_token_grouped_transfers_total", "Transfers in them", shown.transfers, now.transfers);
}

void Maintenance::watch_one(Store& store) {
  const std::string& name = store.community();
  bool is_new = false, expires = false;
  const std::int64_t now_ms = clock_.steady_ms();
  {
    std::lock_guard lock(mutex_);
    Kept& now = kept(name);
    is_new = now.sequencer == nullptr;
    expires = now.expired_at_ms == 0 || now_ms - now.expired_at_ms >= options_.expire_ms;
    if (expires) now.expired_at_ms = now_ms;
  }
  if (is_new) start_sequencer(store);
  Result<> done;
  if (expires)
    if (const auto ended = store.expire_holds(); !ended) done = fail(ended.error());
  const auto status = Log(store.ledger()).status();
  if (!status) done = fail(status.error());
  note(name, "holds and log", done);
  if (!status) return;
  std::lock_guard lock(mutex_);
  show_groups(store);
  Kept& now = kept(name);
  now.unlogged = status->unlogged;
  now.delay_ms = std::max<std::int64_t>(0, status->delay_ms());
  show_log(name, now);
}

void Maintenance::watch(const Work& go_on) {
  if (const auto found = communities_.refresh(); !found)
    log::debug("communities were not listed", {{"problem", found.error().message}});
  for (Store* const store : communities_.all()) {
    if (!go_on()) return;
    watch_one(*store);
  }
}

void Maintenance::check_one(Store& store) {
  const std::string& name = store.community();
  if (const auto made = ensure_partitions(store.ledger()); !made)
    log::error("partitions of the months ahead were not made; transfers are refused without them",
               {{"community", name}, {"problem", made.error().message}});
  const auto report = store.check();
  if (!report) return note(name, "check", fail(report.error()));
  const bool is_good = report->is_consistent && report->differences.empty();
  set_gauge(metrics_, name, "coffer_token_consistent",
            "1 if the last check found every balance as its history gives it; alert on 0",
            is_good ? 1 : 0);
  set_gauge(metrics_, name, "coffer_token_orphan_wallets", "Wallets without an owner",
            static_cast<double>(report->orphans.size()));
  set_gauge(metrics_, name, "coffer_token_checked_unix_seconds", "When the last check began",
            static_cast<double>(report->checked_at_ms) / 1000.0);
  if (!is_good)
    log::error("balances differ from their history", {{"community", name},
                                                      {"wallets", report->differences.size()},
                                                      {"next", "run 'coffer token check'"}});
  if (!report->orphans.empty())
    log::warn("wallets without an owner",
              {{"community", name}, {"wallets", report->orphans.size()}});
  std::lock_guard lock(mutex_);
  kept(name).checked = *report;
}

void Maintenance::count_one(Store& store) {
  const std::string& name = store.community();
  const auto statistics = store.refresh_statistics();
  const auto counts = count_ledger(store.ledger());
  if (!statistics) return note(name, "statistics", fail(statistics.error()));
  if (!counts) return note(name, "counting", fail(counts.error()));
  show_statistics(metrics_, name, *statistics);
  show_counts(metrics_, name, *counts);
  std::lock_guard lock(mutex_);
  kept(name).wallets = counts->wallets;
}

void Maintenance::count(const Work& go_on) {
  const auto is_due = [&](std::int64_t Kept::* last, const std::string& name, std::int64_t every) {
    std::lock_guard lock(mutex_);
    std::int64_t& at_ms = kept(name).*last;
    const std::int64_t now_ms = clock_.steady_ms();
    if (at_ms != 0 && now_ms - at_ms < every) return false;
    at_ms = now_ms;
    return true;
  };
  for (Store* const store : communities_.all()) {
    if (!go_on()) return;
    if (is_due(&Kept::counted_at_ms, store->community(), options_.count_ms)) count_one(*store);
    if (!go_on()) return;
    if (is_due(&Kept::checked_at_ms, store->community(), options_.check_ms)) check_one(*store);
  }
}

std::optional<CheckReport> Maintenance::checked(std::string_view community) const {
  std::lock_guard lock(mutex_);
  const auto found = kept_.find(community);
  return found == kept_.end() ? std::nullopt : found->second.checked;
}

StatusReport Maintenance::status() const {
  StatusReport report;
  report.problem = communities_.problem();
  std::lock_guard lock(mutex_);
  report.communities = kept_.size();
  for (const auto& [name, now] : kept_) {
    if (now.wallets) report.wallets = report.wallets.value_or(0) + *now.wallets;
    report.unlogged = report.unlogged.value_or(0) + now.unlogged;
    if (!now.problem.empty() && report.problem.empty()) report.problem = name + ": " + now.problem;
  }
  return report;
}

std::vector<std::string> Maintenance::not_ready() const {
  std::vector<std::string> reasons;
  std::lock_guard lock(mutex_);
  for (const auto& [name, now] : kept_) {
    if (now.delay_ms > kMaxLogDelayMs)
      reasons.push_back(fmt::format("the log of community {} is {} ms behind", name, now.delay_ms));
    if (now.checked && !now.checked->is_consistent)
      reasons.push_back(
          fmt::format("balances of community {} differ from their history; run "
                      "'coffer token check'",
                      name));
  }
  return reasons;
}

}  // namespace coffer::token
