// The thread that keeps the log of a community up to date (T12): a pass at once when there is work,
// at most one a second, and the next one without a pause while passes are full. Any number of
// processes may have one for the same community.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "token/log/pass.h"

namespace coffer::token {

struct SequencerOptions {
  std::int64_t interval_ms = 1'000;  // between passes, and between looks for work
  PassOptions pass = {};
};

class Sequencer {
 public:
  // The community must outlive it. Without a key the log grows without checkpoints.
  Sequencer(const Community& community, std::optional<crypto::Ed25519Key> key,
            SequencerOptions options = {});
  // Ends after the pass under way.
  ~Sequencer();
  Sequencer(const Sequencer&) = delete;
  Sequencer& operator=(const Sequencer&) = delete;

  struct Counters {
    std::uint64_t passes = 0;    // that did something
    std::uint64_t entries = 0;   // that they put into the log
    std::uint64_t failures = 0;  // in a row, now
    std::string last_error;      // of the last failure; empty after a success
  };
  Counters counters() const;  // thread-safe

 private:
  void run();
  // True if the next pass should follow at once.
  bool step();
  // False if it is to end.
  bool wait();
  void note(const Result<Pass>& pass);

  const Community& community_;
  const std::optional<crypto::Ed25519Key> key_;
  const SequencerOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stops_ = false;
  Counters counters_;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace coffer::token
