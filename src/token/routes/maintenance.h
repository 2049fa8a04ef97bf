// What a server does for its communities by itself: their logs, holds that expire, statistics, the
// daily check, and the metrics of 002.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "api/metrics.h"
#include "api/periodic_task.h"
#include "token/json/status.h"
#include "token/log/sequencer.h"
#include "token/routes/communities.h"

namespace coffer::token {

struct MaintenanceOptions {
  std::int64_t watch_ms = 1'000;   // between looks for communities and logs that are late
  std::int64_t expire_ms = 5'000;  // between passes over holds
  std::int64_t count_ms = 60'000;  // between counts, unless they take long
  std::int64_t check_ms = 24 * std::int64_t{3'600'000};  // between checks of all balances
};

// Thread-safe.
class Maintenance {
 public:
  // All outlive it. Begins at once.
  Maintenance(Communities& communities, const config::Config& config, api::Metrics& metrics,
              const Clock& clock, MaintenanceOptions options = {});
  // Waits for what is under way.
  ~Maintenance();
  Maintenance(const Maintenance&) = delete;
  Maintenance& operator=(const Maintenance&) = delete;

  // What the last check found; nothing before the first.
  std::optional<CheckReport> checked(std::string_view community) const;
  StatusReport status() const;
  // Why the process is not ready: logs that are late (T12), balances that differ.
  std::vector<std::string> not_ready() const;

 private:
  struct Kept {  // of one community
    std::unique_ptr<Sequencer> sequencer;
    std::uint64_t unlogged = 0;
    std::int64_t delay_ms = 0;
    std::int64_t expired_at_ms = 0;  // by the steady clock, as are those below; 0: never
    std::int64_t counted_at_ms = 0, checked_at_ms = 0;
    std::optional<std::uint64_t> wallets;
    std::optional<CheckReport> checked;
    Store::GroupStats groups;  // that the metrics show already
    std::string problem;
  };
  using Work = std::function<bool()>;

  void watch(const Work& go_on);
  void watch_one(Store& store);
  void count(const Work& go_on);
  void count_one(Store& store);
  void check_one(Store& store);
  Kept& kept(const std::string& community);  // under mutex_
  void start_sequencer(Store& store);
  void note(const std::string& community, std::string_view what, const Result<>& done);
  void show_log(const std::string& community, const Kept& kept);
  void show_groups(const Store& store);  // under mutex_

  Communities& communities_;
  const config::Config& config_;
  api::Metrics& metrics_;
  const Clock& clock_;
  const MaintenanceOptions options_;
  mutable std::mutex mutex_;  // guards kept_
  std::map<std::string, Kept, std::less<>> kept_;
  std::optional<api::PeriodicTask> watcher_, counter_;  // last: they use the rest
};

}  // namespace coffer::token
