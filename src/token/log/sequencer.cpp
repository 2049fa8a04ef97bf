#include "token/log/sequencer.h"

#include <algorithm>
#include <chrono>

#include <coffer/base/log.h>
#include "base/result.h"

namespace coffer::token {
namespace {

constexpr std::uint64_t kMaxPauses = 10;  // of interval_ms, after failures

Result<Pass> run_pass_if_due(const Community& community, const crypto::Ed25519Key* key,
                             const PassOptions& options) {
  if (!TRY(is_pass_due(community, key != nullptr))) return Pass{};
  return run_pass(community, key, options);
}

}  // namespace

Sequencer::Sequencer(const Community& community, std::optional<crypto::Ed25519Key> key,
                     SequencerOptions options)
    : community_(community), key_(std::move(key)), options_(options), thread_([this] { run(); }) {}

Sequencer::~Sequencer() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

Sequencer::Counters Sequencer::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void Sequencer::run() {
  do {
    while (step()) {
    }
  } while (wait());
}

bool Sequencer::step() {
  {
    const std::lock_guard lock(mutex_);
    if (stops_) return false;
  }
  const auto pass = run_pass_if_due(community_, key_ ? &*key_ : nullptr, options_.pass);
  note(pass);
  return pass && pass->is_full;
}

bool Sequencer::wait() {
  std::unique_lock lock(mutex_);
  const auto pauses = std::clamp<std::uint64_t>(counters_.failures, 1, kMaxPauses);
  const auto pause = std::chrono::milliseconds(options_.interval_ms) * pauses;
  return !wake_.wait_for(lock, pause, [&] { return stops_; });
}

void Sequencer::note(const Result<Pass>& pass) {
  const std::lock_guard lock(mutex_);
  if (pass) {
    if (pass->entries > 0 || pass->checkpoint) ++counters_.passes;
    counters_.entries += pass->entries;
    if (counters_.failures > 0)
      log::info("the token log goes on", {{"community", community_.name()}});
    counters_.failures = 0;
    counters_.last_error.clear();
    return;
  }
  // A database that is away for an hour is one line in the log.
  if (++counters_.failures == 1)
    log::warn("the token log waits",
              {{"community", community_.name()}, {"error", pass.error().message}});
  counters_.last_error = pass.error().message;
}

}  // namespace coffer::token
