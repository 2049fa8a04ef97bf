#include "token/routes/writes.h"

#include "base/result.h"
#include "token/reasons.h"

namespace coffer::token {
namespace {

std::unexpected<Error> too_many_waiting() {
  return std::unexpected(refusal("too_many_waiting",
                                 "too many changes wait for others to end; try again with the "
                                 "same ids"));
}

}  // namespace

Writes::Writes(const Clock& clock, WritesOptions options)
    : clock_(clock), options_(options), pool_(options.threads, options.max_waiting) {}

void Writes::submit(Work work, const api::Respond& respond) {
  const std::int64_t latest_ms = clock_.steady_ms() + options_.max_wait_ms;
  const auto run = [this, latest_ms, work = std::move(work), respond] {
    respond(clock_.steady_ms() < latest_ms ? work() : too_many_waiting());
  };
  if (!pool_.try_submit(run)) respond(too_many_waiting());
}

}  // namespace coffer::token
