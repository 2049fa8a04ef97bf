// The simulated chain as a source: paced like a real node, or as fast as it is read.
// It keeps nothing on disk: after a restart it replays from the seed up to the block it is told of.
#pragma once

#include <deque>

#include <coffer/base/clock.h>
#include "feed/devnet_chain.h"
#include "feed/source_base.h"

namespace coffer::feed {

struct DevnetSourceOptions {
  DevnetOptions chain;
  int block_interval_ms = 0;  // 0: no waiting
  std::uint64_t premine = 0;  // blocks up to this height come without waiting
  // End after the first block of this height.
  std::optional<std::uint64_t> stop_height = {};
  chain::Point resume;  // the newest block that the reader has; Origin if none
  std::uint64_t resume_number = 0;
};

class DevnetSource final : public SourceBase {
 public:
  DevnetSource(DevnetSourceOptions options, const Clock& clock);

  std::string describe() const override;
  // Cost: the first call replays the chain up to the resume point.
  // Errors: kConflict if that block is not on this chain, kCancelled.
  Result<chain::Point> intersect(std::span<const chain::Point> points) override;
  Result<SourceEvent> next(int timeout_ms) override;
  std::string transport() const override { return "a simulation"; }

 private:
  Result<> catch_up();
  std::uint64_t height_of(const chain::Point& point) const;
  std::optional<SourceEvent> next_replayed();
  bool block_is_due(int timeout_ms);
  void emit(Emission emission);

  const DevnetSourceOptions options_;
  const Clock& clock_;
  DevnetChain live_;
  bool caught_up_ = false;
  std::unique_ptr<DevnetChain> replay_;  // serves older blocks of the live chain's best branch
  std::uint64_t replay_from_ = 0;        // the next height it owes
  std::deque<SourceEvent> ready_;        // what the live chain has emitted and nobody took yet
  std::uint64_t ready_height_ = 0;       // of the block among it
  std::int64_t due_steady_ms_ = 0;       // when the next paced block comes
};

}  // namespace coffer::feed
