// The communities that a server serves. On PostgreSQL they share one pool of connections, on SQLite
// each is a file with a pool of its own. Invariant: a community that is open stays so until the
// end, so a Store that was found may be kept.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include <coffer/base/clock.h>
#include <coffer/token/store.h>
#include "config/config.h"
#include "sql/stop_signal.h"

namespace coffer::token {

// Thread-safe.
class Communities {
 public:
  // Opens none yet. `config`, `clock` and `stop` outlive it. Errors: those of sql::Database::open.
  static Result<std::unique_ptr<Communities>> open(const config::Config& config, const Clock& clock,
                                                   const sql::StopSignal* stop = nullptr);

  // Opens it if it is there and not open yet. Errors: kNotFound; those of Store::open.
  Result<Store*> find(std::string_view name);
  // Those that are there now and are served; opens the ones that are new, and logs what cannot be
  // opened. Errors: those of the database.
  Result<std::vector<std::string>> refresh();
  // Those that are open.
  std::vector<Store*> all() const;
  // The server, or the files of those that are open.
  std::vector<const sql::Database*> databases() const;
  // Why a community could not be opened the last time; empty if all could.
  std::string problem() const;

 private:
  struct Opened {
    std::unique_ptr<sql::Database> database;  // on SQLite
    std::unique_ptr<Store> store;
  };
  Communities(const config::Config& config, const Clock& clock, const sql::StopSignal* stop)
      : config_(config), clock_(clock), stop_(stop) {}
  Store* find_open(std::string_view name) const;
  Result<Store*> open_one(const std::string& name);  // under opening_
  Result<std::vector<std::string>> list() const;

  const config::Config& config_;
  const Clock& clock_;
  const sql::StopSignal* const stop_;
  std::unique_ptr<sql::Database> server_;  // on PostgreSQL
  std::mutex opening_;                     // one is opened at a time; guards what follows
  std::int64_t listed_at_ms_ = -1'000'000;
  std::vector<std::string> listed_;
  mutable std::shared_mutex mutex_;  // guards what follows
  std::map<std::string, Opened, std::less<>> open_;
  std::string problem_;
};

}  // namespace coffer::token
