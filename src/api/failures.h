// Who gives wrong tokens, and how long no token is taken from them.
// Invariant: an address that keeps guessing gets one guess a minute in the end; others are not held
// up by it, and the memory is bounded however many addresses guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include <coffer/base/clock.h>

namespace coffer::api {

// After 10 wrong tokens the pauses double from 1 second to a minute, and a minute without one
// forgives one. On loopback, where the cause is a program with an old token, the longest pause is 2
// seconds, and a second forgives one. Thread-safe; constant time but for an address that is new to
// a full table.
class Failures {
 public:
  static constexpr int kFree = 10;
  static constexpr std::size_t kMaxPeers = 4096;  // above it the one that failed longest ago goes

  // `clock` outlives it.
  explicit Failures(const Clock& clock) : clock_(clock) {}

  // How long no token of this peer (http::Request::peer_group) is looked at; 0: it is.
  std::int64_t pause_ms(std::string_view peer) const;
  void count(std::string_view peer);

 private:
  struct Peer {
    int failures = 0;
    std::int64_t last_ms = 0;
    std::int64_t paused_until_ms = 0;
  };
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Peer> peers_;  // under mutex_
};

}  // namespace coffer::api
