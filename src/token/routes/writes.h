// Requests that change something may wait long for what another session has locked. They run on
// threads of their own, so that however many of them wait, the server's workers go on answering.
// Single transfers do not come here: they wait for their group without any thread.
#pragma once

#include <coffer/base/clock.h>
#include "api/routes.h"
#include "http/worker_pool.h"

namespace coffer::token {

struct WritesOptions {
  std::size_t threads = 2;
  std::size_t max_waiting = 256;     // for a thread; → 503
  std::int64_t max_wait_ms = 5'000;  // for a thread; → 503
};

// Thread-safe.
class Writes {
 public:
  using Work = std::function<Result<http::Response>()>;

  // `clock` outlives it.
  explicit Writes(const Clock& clock, WritesOptions options = {});
  // Waits for what is under way; what waits is dropped, and its client gets 500.
  ~Writes() = default;

  // Calls `respond` once: with what `work` returns on a thread of the pool, or with kUnavailable
  // and the reason too_many_waiting, on any thread.
  void submit(Work work, const api::Respond& respond);

 private:
  const Clock& clock_;
  const WritesOptions options_;
  http::WorkerPool pool_;  // last: its threads use the rest
};

}  // namespace coffer::token
