#include "bus/bus.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"

namespace coffer::bus {

std::size_t weight(const Event& event) {
  const auto of_block = [](const chain::Block& block) {
    return block.raw.size() + block.txs.size() * sizeof(chain::Tx) +
           block.inputs.size() * sizeof(chain::Input) +
           block.outputs.size() * sizeof(chain::Output) +
           block.assets.size() * sizeof(chain::Asset);
  };
  if (const auto* applied = std::get_if<BlockApplied>(&event)) return of_block(*applied->block);
  if (const auto* seen = std::get_if<TxSeen>(&event)) return of_block(*seen->tx);
  return sizeof(Event);
}

namespace {

// Something around the consumer failed: its data are whole, nothing need be rebuilt.
bool is_outside(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kTimeout;
}

}  // namespace

struct Bus::Lane {
  Consumer* consumer = nullptr;
  std::thread thread;

  mutable std::mutex mutex;
  std::condition_variable changed;  // queue, idle, state or stop
  std::deque<Event> queue;
  std::size_t queued_bytes = 0;
  bool idle = true;  // nothing queued, nothing in hand, all flushed
  bool closed = false;
  int drains = 0;     // callers that wait for idle
  bool more = false;  // the source is known to have blocks after the last one handled
  std::chrono::steady_clock::time_point linger_until;  // other events do not put it off
  ConsumerState state = ConsumerState::kRunning;
  bool recovered = false;  // waiting, and could go on
  int wait_ms = 0;         // until it is asked again while it waits; 0 once it has got on
  std::string problem, repair;
};

Bus::Bus(BusOptions options) : options_(options) {}

Bus::~Bus() {
  stop();
}

void Bus::add(Consumer& consumer) {
  CHECK(!started_);
  CHECK(find(consumer.name()) == nullptr);
  lanes_.push_back(std::make_unique<Lane>());
  lanes_.back()->consumer = &consumer;
}

void Bus::start() {
  CHECK(!started_);
  started_ = true;
  for (auto& lane : lanes_) lane->thread = std::thread([this, at = lane.get()] { run(*at); });
}

Bus::Lane* Bus::find(std::string_view name) const {
  for (const auto& lane : lanes_)
    if (lane->consumer->name() == name) return lane.get();
  return nullptr;
}

Result<> Bus::enqueue(Lane& lane, const Event& event) {
  const std::size_t bytes = weight(event);
  std::unique_lock lock(lane.mutex);
  lane.changed.wait(lock, [&] {
    if (stopping_ || lane.state != ConsumerState::kRunning) return true;
    return lane.queue.empty() || (lane.queue.size() < options_.queue_events &&
                                  lane.queued_bytes + bytes <= options_.queue_bytes);
  });
  if (stopping_) return fail(Code::kCancelled, "stopping");
  if (lane.state != ConsumerState::kRunning) return {};
  lane.queue.push_back(event);
  lane.queued_bytes += bytes;
  lane.idle = false;
  lane.changed.notify_all();
  return {};
}

Result<> Bus::publish(Event event) {
  for (auto& lane : lanes_) TRY(enqueue(*lane, event));
  return {};
}

Result<> Bus::publish_to(std::string_view consumer, Event event) {
  Lane* lane = find(consumer);
  if (lane == nullptr) return fail(Code::kNotFound, "no consumer {}", consumer);
  return enqueue(*lane, event);
}

void Bus::halt(std::string_view consumer, std::string problem) {
  if (Lane* lane = find(consumer))
    stop_lane(*lane, ConsumerState::kHalted, std::move(problem), lane->consumer->repair());
}

void Bus::stop_lane(Lane& lane, ConsumerState state, std::string problem, std::string repair) {
  if (state == ConsumerState::kWaiting)
    log::warn("consumer waits", {{"consumer", lane.consumer->name()}, {"problem", problem}});
  else
    log::error("consumer halted",
               {{"consumer", lane.consumer->name()}, {"problem", problem}, {"repair", repair}});
  std::lock_guard lock(lane.mutex);
  lane.state = state;
  lane.recovered = false;
  lane.problem = std::move(problem);
  lane.repair = std::move(repair);
  lane.queue.clear();
  lane.queued_bytes = 0;
  lane.idle = true;
  lane.changed.notify_all();
}

Result<> Bus::with_retries(Lane& lane, const std::function<Result<>()>& call) {
  int pause_ms = options_.first_pause_ms;
  for (int left = options_.retries;; --left) {
    Result<> result = call();
    if (result || !result.error().retryable || left == 0) return result;
    log::warn("consumer tries again", {{"consumer", lane.consumer->name()},
                                       {"problem", result.error().message},
                                       {"pause_ms", pause_ms}});
    std::unique_lock lock(lane.mutex);
    lane.changed.wait_for(lock, std::chrono::milliseconds(pause_ms),
                          [&] { return stopping_.load(); });
    pause_ms *= 2;
  }
}

Result<> Bus::handle(Lane& lane, const Event& event) {
  Consumer& consumer = *lane.consumer;
  if (const auto* applied = std::get_if<BlockApplied>(&event)) {
    const Position at = consumer.position();
    // Behind the consumer's position: it has this block already (E3).
    if (!at.at_origin && applied->ordinal <= at.ordinal) return {};
    const bool extends = applied->ordinal.value == at.height() &&
                         (at.at_origin || applied->block->prev == at.point.hash);
    if (!extends)
      return fail(Code::kConflict, "block at ordinal {} does not follow its own tip, {}",
                  applied->ordinal.value,
                  at.at_origin ? "Origin" : fmt::format("ordinal {}", at.ordinal.value));
    TRY(with_retries(lane, [&] { return consumer.on_block(*applied); }));
    CHECK(consumer.position() == applied->position());
    return {};
  }
  if (const auto* rolled_back = std::get_if<RolledBack>(&event)) {
    if (consumer.position().height() <= rolled_back->to.height()) return {};
    TRY(with_retries(lane, [&] { return consumer.flush(); }));
    TRY(with_retries(lane, [&] { return consumer.on_rollback(*rolled_back); }));
    CHECK(consumer.position() == rolled_back->to);
    return {};
  }
  if (const auto* seen = std::get_if<TxSeen>(&event))
    return with_retries(lane, [&] { return consumer.on_tx_seen(*seen); });
  return with_retries(lane, [&] { return consumer.on_tx_dropped(std::get<TxDropped>(event)); });
}

bool Bus::has_recovered() const {
  for (const auto& lane : lanes_) {
    std::lock_guard lock(lane->mutex);
    if (lane->recovered) return true;
  }
  return false;
}

void Bus::resume() {
  for (auto& lane : lanes_) {
    std::lock_guard lock(lane->mutex);
    if (!lane->recovered) continue;
    log::info("consumer goes on", {{"consumer", lane->consumer->name()}});
    lane->recovered = false;
    lane->state = ConsumerState::kRunning;
    lane->problem.clear();
    lane->repair.clear();
  }
}

void Bus::wait_in(Lane& lane, std::unique_lock<std::mutex>& lock) {
  const int wait_ms = std::max(lane.wait_ms, options_.first_wait_ms);
  const bool ended = lane.changed.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] {
    return lane.closed || lane.state != ConsumerState::kWaiting;
  });
  if (ended) return;
  lane.wait_ms = std::min(2 * wait_ms, options_.longest_wait_ms);
  lock.unlock();
  const Result<> there = lane.consumer->look_again();
  if (!there && !is_outside(there.error()))
    stop_lane(lane, ConsumerState::kHalted, there.error().message, lane.consumer->repair());
  lock.lock();
  if (lane.state != ConsumerState::kWaiting) return;
  lane.recovered = there.has_value();
  if (!there) lane.problem = there.error().message;
}

Result<std::optional<KeptBlock>> Bus::newest_kept(std::string_view consumer,
                                                  std::uint64_t below_height) const {
  const Lane* lane = find(consumer);
  if (lane == nullptr) return fail(Code::kNotFound, "no consumer {}", consumer);
  return lane->consumer->newest_kept(below_height);
}

void Bus::run(Lane& lane) {
  std::unique_lock lock(lane.mutex);
  for (;;) {
    while (lane.state == ConsumerState::kWaiting && !lane.recovered && !lane.closed)
      wait_in(lane, lock);
    lane.changed.wait(lock, [&] { return !lane.queue.empty() || lane.closed; });
    if (lane.queue.empty()) break;
    Event event = std::move(lane.queue.front());
    lane.queue.pop_front();
    lane.queued_bytes -= weight(event);
    lane.changed.notify_all();
    lock.unlock();
    Result<> result = handle(lane, event);
    lock.lock();
    if (const auto* applied = std::get_if<BlockApplied>(&event)) {
      lane.more = applied->behind > 0;
      lane.linger_until =
          std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.linger_ms);
    }
    // A consumer that keeps up with the decoder would otherwise commit block by block.
    if (result && lane.more && lane.queue.empty())
      lane.changed.wait_until(lock, lane.linger_until, [&] {
        return !lane.queue.empty() || lane.closed || lane.drains > 0 ||
               lane.state != ConsumerState::kRunning;
      });
    // Flush once nothing more waits, so that held-back commits never outlast the burst.
    while (result && lane.queue.empty() && !lane.idle && lane.state == ConsumerState::kRunning) {
      lock.unlock();
      result = with_retries(lane, [&] { return lane.consumer->flush(); });
      lock.lock();
      if (result && lane.queue.empty()) {
        lane.idle = true;
        lane.wait_ms = 0;
        lane.changed.notify_all();
      } else if (result) {
        break;
      }
    }
    if (!result && lane.state == ConsumerState::kRunning) {
      lock.unlock();
      const bool outside = is_outside(result.error());
      const bool waits = outside && lane.consumer->can_wait();
      stop_lane(lane, waits ? ConsumerState::kWaiting : ConsumerState::kHalted,
                result.error().message,
                waits     ? "it goes on by itself once that is there again"
                : outside ? "remove the cause and start again"
                          : lane.consumer->repair());
      lock.lock();
    }
  }
}

Result<> Bus::drain() {
  for (auto& lane : lanes_) {
    std::unique_lock lock(lane->mutex);
    ++lane->drains;
    lane->changed.notify_all();
    lane->changed.wait(lock, [&] { return lane->idle || stopping_; });
    --lane->drains;
  }
  if (stopping_) return fail(Code::kCancelled, "stopping");
  return {};
}

void Bus::stop() {
  if (!started_ || stopping_.exchange(true)) return;
  for (auto& lane : lanes_) {
    std::lock_guard lock(lane->mutex);
    lane->closed = true;
    lane->changed.notify_all();
  }
  for (auto& lane : lanes_)
    if (lane->thread.joinable()) lane->thread.join();
}

std::vector<ConsumerInfo> Bus::consumers() const {
  std::vector<ConsumerInfo> infos;
  for (const auto& lane : lanes_) {
    std::lock_guard lock(lane->mutex);
    infos.push_back({std::string(lane->consumer->name()), lane->state, lane->consumer->position(),
                     lane->problem, lane->repair});
  }
  return infos;
}

std::uint64_t Bus::queued_events() const {
  std::uint64_t total = 0;
  for (const auto& lane : lanes_) {
    std::lock_guard lock(lane->mutex);
    total += lane->queue.size();
  }
  return total;
}

std::optional<Position> Bus::lowest_position() const {
  std::optional<Position> lowest;
  for (const ConsumerInfo& info : consumers())
    if (info.state == ConsumerState::kRunning &&
        (!lowest || info.position.height() < lowest->height()))
      lowest = info.position;
  return lowest;
}

}  // namespace coffer::bus
