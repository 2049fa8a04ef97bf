#include "feed/devnet_source.h"

#include "base/check.h"
#include "base/result.h"

namespace coffer::feed {

DevnetSource::DevnetSource(DevnetSourceOptions options, const Clock& clock)
    : options_(options), clock_(clock), live_(options_.chain) {
  set_tip(0);
}

std::string DevnetSource::describe() const {
  return fmt::format("devnet (seed {})", options_.chain.seed);
}

std::uint64_t DevnetSource::height_of(const chain::Point& point) const {
  return options_.chain.family == chain::Family::kBitcoin ? point.slot.value
                                                          : point.slot.value / kDevnetSlotsPerBlock;
}

Result<> DevnetSource::catch_up() {
  if (caught_up_) return {};
  if (!options_.resume.is_origin()) {
    // A stale block is overtaken within the deepest reorg, so far beyond its height it will not
    // come.
    const std::uint64_t limit = options_.resume_number + options_.chain.max_reorg_depth + 2;
    for (;;) {
      if (interrupted_) return cancelled();
      const Emission emission = live_.next();
      set_tip(emission.height);
      if (emission.hash == options_.resume.hash) break;
      if (emission.height > limit)
        return fail(Code::kConflict,
                    "block {} is not on this simulated chain; choose another --data or seed",
                    display(options_.chain.family, options_.resume.hash));
    }
  }
  caught_up_ = true;
  due_steady_ms_ = clock_.steady_ms() + options_.block_interval_ms;
  return {};
}

Result<chain::Point> DevnetSource::intersect(std::span<const chain::Point> points) {
  TRY(catch_up());
  ready_.clear();
  replay_.reset();
  chain::Point found = chain::Point::origin();
  std::uint64_t after = 0;
  for (const chain::Point& point : points) {
    const std::uint64_t height = height_of(point);
    if (height >= live_.best().size() || live_.best()[height] != point.hash) continue;
    found = point;
    after = height + 1;
    break;
  }
  if (after < live_.best().size()) {
    replay_ = std::make_unique<DevnetChain>(options_.chain);
    replay_from_ = after;
  }
  return found;
}

std::optional<SourceEvent> DevnetSource::next_replayed() {
  while (replay_ && !interrupted_) {
    Emission emission = replay_->next();
    const auto& best = live_.best();
    CHECK(emission.height <= best.size() + options_.chain.max_reorg_depth);
    // Stale blocks, and blocks the reader has, are passed over.
    if (emission.height != replay_from_ || best[emission.height] != emission.hash) continue;
    if (++replay_from_ == best.size()) replay_.reset();
    return NextBlock{std::move(emission.block)};
  }
  return std::nullopt;
}

bool DevnetSource::block_is_due(int timeout_ms) {
  const bool at_once = options_.block_interval_ms == 0 || ready_height_ <= options_.premine;
  if (at_once) return true;
  const std::int64_t now = clock_.steady_ms();
  wait(std::min<std::int64_t>(due_steady_ms_ - now, timeout_ms));
  if (interrupted_ || clock_.steady_ms() < due_steady_ms_) return false;
  due_steady_ms_ = std::max(due_steady_ms_ + options_.block_interval_ms, clock_.steady_ms());
  return true;
}

void DevnetSource::emit(Emission emission) {
  auto mempool = [&](const std::vector<MempoolEvent>& events) {
    for (const MempoolEvent& event : events) {
      if (event.seen)
        ready_.emplace_back(MempoolAdded{event.seen->wire});
      else
        ready_.emplace_back(MempoolRemoved{event.dropped});
    }
  };
  mempool(emission.before);
  ready_.emplace_back(NextBlock{std::move(emission.block)});
  ready_height_ = emission.height;
  mempool(emission.after);
}

Result<SourceEvent> DevnetSource::next(int timeout_ms) {
  if (interrupted_) return cancelled();
  TRY(catch_up());
  if (auto step = next_replayed()) return std::move(*step);
  if (ready_.empty()) {
    if (options_.stop_height && live_.best().size() > *options_.stop_height)
      return SourceEvent(End{});
    emit(live_.next());  // its mempool traffic comes at once, its block when it is due
  }
  if (std::holds_alternative<NextBlock>(ready_.front())) {
    if (!block_is_due(timeout_ms)) {
      if (interrupted_) return cancelled();
      return SourceEvent(Idle{});
    }
    set_tip(ready_height_);
  }
  SourceEvent step = std::move(ready_.front());
  ready_.pop_front();
  return step;
}

}  // namespace coffer::feed
