#include "api/failures.h"

#include <algorithm>

namespace coffer::api {
namespace {

struct Rule {
  std::int64_t longest_pause_ms, forgive_one_ms;
};

Rule rule_of(std::string_view peer) {
  // What is no address is of this machine: loopback, or a socket that has no address.
  const bool is_remote = peer.find_first_of(".:") != std::string_view::npos;
  if (is_remote) return {60'000, 60'000};
  return {2'000, 1'000};
}

}  // namespace

std::int64_t Failures::pause_ms(std::string_view peer) const {
  std::lock_guard lock(mutex_);
  const auto found = peers_.find(std::string(peer));
  if (found == peers_.end()) return 0;
  return std::max<std::int64_t>(0, found->second.paused_until_ms - clock_.steady_ms());
}

void Failures::count(std::string_view peer) {
  const Rule rule = rule_of(peer);
  const std::int64_t now = clock_.steady_ms();
  std::lock_guard lock(mutex_);
  auto found = peers_.find(std::string(peer));
  if (found == peers_.end()) {
    if (peers_.size() >= kMaxPeers)
      peers_.erase(std::ranges::min_element(
          peers_, {}, [](const auto& entry) { return entry.second.last_ms; }));
    found = peers_.emplace(peer, Peer{0, now, 0}).first;
  }
  Peer& of = found->second;
  const std::int64_t forgiven = (now - of.last_ms) / rule.forgive_one_ms;
  of.failures = static_cast<int>(std::max<std::int64_t>(0, of.failures - forgiven)) + 1;
  of.last_ms = now;
  if (of.failures <= kFree) return;
  const int doublings = std::min(of.failures - kFree - 1, 16);
  of.paused_until_ms = now + std::min(rule.longest_pause_ms, std::int64_t{1'000} << doublings);
}

}  // namespace coffer::api
