// Notices that an SQL database of a module is gone although nobody needs it now, for /health/ready
// and `coffer status`. Each module has a thread of its own, so that one that hangs delays no other.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "api/periodic_task.h"
#include "sql/probe.h"
#include "sql/stop_signal.h"

namespace coffer::node {

class DatabaseProbe {
 public:
  // Which databases the module has open now; they outlive this. Asks each every few seconds, one
  // after another.
  using List = std::function<std::vector<const sql::Database*>()>;
  DatabaseProbe(std::string_view module, List list, const sql::StopSignal& stop);

  std::string_view module() const { return module_; }
  // Of those that did not answer the last time, as reasons why the module is not ready.
  // Thread-safe, asks nobody.
  std::vector<std::string> problems() const;

 private:
  void ask_all(const std::function<bool()>& go_on);

  const std::string_view module_;
  const List list_;
  const sql::StopSignal& stop_;
  std::map<const sql::Database*, sql::Probe> probes_;  // of the task alone
  mutable std::mutex mutex_;
  std::vector<std::string> problems_;
  api::PeriodicTask task_;  // the last: it uses all of the above
};

}  // namespace coffer::node
