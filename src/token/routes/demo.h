// A small living community for `coffer demo`: a few people who send each other tokens now and then.
#pragma once

#include <optional>

#include <coffer/token/store.h>
#include "api/periodic_task.h"
#include "base/random.h"
#include "token/routes/communities.h"

namespace coffer::token {

// Makes the community of the settings, with its people, unless it is there. Errors: as of
// OpenLedger::make.
Result<> make_demo_community(const config::Config& config);

class DemoLife {
 public:
  // `communities` outlives it. Begins at once.
  DemoLife(Communities& communities, std::string community);

 private:
  void send_something();

  Communities& communities_;
  const std::string community_;
  Rng rng_;  // of the task's thread
  std::optional<api::PeriodicTask> task_;
};

}  // namespace coffer::token
