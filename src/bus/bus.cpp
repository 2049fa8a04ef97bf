#include <coffer/bus/bus.h>

#include <algorithm>

#include <coffer/base/log.h>
#include "base/check.h"
#include "base/result.h"

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

constexpr std::string_view kGoesOn = "it goes on by itself once that is there again";

// Something around the consumer failed: its data are whole, nothing need be rebuilt.
bool is_outside(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kTimeout;
}

}  // namespace

struct Bus::ConsumerQueue {
  Consumer* consumer = nullptr;
  std::thread thread;

  mutable std::mutex mutex;
  std::condition_variable changed;  // queue, idle, state or stop
  std::deque<Event> events;
  std::size_t queued_bytes = 0;
  bool can_wait = false;
  bool idle = true;                                  // nothing queued, nothing in hand, all flushed
  std::chrono::steady_clock::time_point busy_since;  // with the event in hand
  bool closed = false;
  int drains = 0;     // callers that wait for idle
  bool more = false;  // the source is known to have blocks after the last one handled
  std::chrono::steady_clock::time_point flush_at;  // other events do not put it off
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
  queues_.push_back(std::make_unique<ConsumerQueue>());
  queues_.back()->consumer = &consumer;
  queues_.back()->can_wait = consumer.can_wait();
}

void Bus::start() {
  CHECK(!started_);
  started_ = true;
  for (auto& queue : queues_) queue->thread = std::thread([this, at = queue.get()] { run(*at); });
}

Bus::ConsumerQueue* Bus::find(std::string_view name) const {
  for (const auto& queue : queues_)
    if (queue->consumer->name() == name) return queue.get();
  return nullptr;
}

void Bus::wait_for_consumer(ConsumerQueue& queue, std::unique_lock<std::mutex>& lock,
                            const std::function<bool()>& done) {
  const std::chrono::milliseconds patience(options_.patience_ms);
  while (!done()) {
    if (!queue.can_wait) {
      queue.changed.wait(lock);
      continue;
    }
    queue.changed.wait_until(lock, queue.busy_since + patience);
    if (done() || std::chrono::steady_clock::now() < queue.busy_since + patience) continue;
    lock.unlock();
    stop_delivery(queue, ConsumerState::kWaiting,
                  fmt::format("has been busy with one event for {} ms", options_.patience_ms),
                  std::string(kGoesOn));
    lock.lock();
  }
}

Result<> Bus::enqueue(ConsumerQueue& queue, const Event& event) {
  const std::size_t bytes = weight(event);
  std::unique_lock lock(queue.mutex);
  wait_for_consumer(queue, lock, [&] {
    if (stopping_ || queue.state != ConsumerState::kRunning) return true;
    return queue.events.empty() || (queue.events.size() < options_.queue_events &&
                                    queue.queued_bytes + bytes <= options_.queue_bytes);
  });
  if (stopping_) return fail(Code::kCancelled, "stopping");
  if (queue.state != ConsumerState::kRunning) return {};
  if (queue.idle) queue.busy_since = std::chrono::steady_clock::now();
  queue.events.push_back(event);
  queue.queued_bytes += bytes;
  queue.idle = false;
  queue.changed.notify_all();
  return {};
}

Result<> Bus::publish(const Event& event) {
  for (auto& queue : queues_) TRY(enqueue(*queue, event));
  return {};
}

Result<> Bus::publish_to(std::string_view consumer, const Event& event) {
  ConsumerQueue* queue = find(consumer);
  if (queue == nullptr) return fail(Code::kNotFound, "no consumer {}", consumer);
  return enqueue(*queue, event);
}

void Bus::halt(std::string_view consumer, std::string problem) {
  if (ConsumerQueue* queue = find(consumer))
    stop_delivery(*queue, ConsumerState::kHalted, std::move(problem), queue->consumer->repair());
}

void Bus::stop_delivery(ConsumerQueue& queue, ConsumerState state, std::string problem,
                        std::string repair) {
  if (state == ConsumerState::kWaiting)
    log::warn("consumer waits", {{"consumer", queue.consumer->name()}, {"problem", problem}});
  else
    log::error("consumer halted",
               {{"consumer", queue.consumer->name()}, {"problem", problem}, {"repair", repair}});
  std::lock_guard lock(queue.mutex);
  queue.state = state;
  queue.recovered = false;
  queue.problem = std::move(problem);
  queue.repair = std::move(repair);
  queue.events.clear();
  queue.queued_bytes = 0;
  queue.idle = true;
  queue.changed.notify_all();
}

Result<> Bus::with_retries(ConsumerQueue& queue, const std::function<Result<>()>& call) {
  int pause_ms = options_.first_pause_ms;
  for (int left = options_.retries;; --left) {
    Result<> result = call();
    if (result || !result.error().retryable || left == 0 || stopping_) return result;
    log::warn("consumer tries again", {{"consumer", queue.consumer->name()},
                                       {"problem", result.error().message},
                                       {"pause_ms", pause_ms}});
    std::unique_lock lock(queue.mutex);
    queue.changed.wait_for(lock, std::chrono::milliseconds(pause_ms),
                           [&] { return stopping_.load(); });
    pause_ms *= 2;
  }
}

Result<> Bus::handle(ConsumerQueue& queue, const Event& event) {
  Consumer& consumer = *queue.consumer;
  if (const auto* applied = std::get_if<BlockApplied>(&event)) {
    const Position at = consumer.position();
    // Behind the consumer's position: it has this block already (E3).
    if (!at.at_origin && applied->ordinal <= at.ordinal) return {};
    const bool extends = applied->ordinal.value == at.block_count() &&
                         (at.at_origin || applied->block->prev == at.point.hash);
    if (!extends)
      return fail(Code::kConflict, "block at ordinal {} does not follow its own tip, {}",
                  applied->ordinal.value,
                  at.at_origin ? "Origin" : fmt::format("ordinal {}", at.ordinal.value));
    TRY(with_retries(queue, [&] { return consumer.on_block(*applied); }));
    CHECK(consumer.position() == applied->position());
    return {};
  }
  if (const auto* rolled_back = std::get_if<RolledBack>(&event)) {
    if (consumer.position().block_count() <= rolled_back->to.block_count()) return {};
    TRY(with_retries(queue, [&] { return consumer.flush(); }));
    TRY(with_retries(queue, [&] { return consumer.on_rollback(*rolled_back); }));
    CHECK(consumer.position() == rolled_back->to);
    return {};
  }
  if (const auto* seen = std::get_if<TxSeen>(&event))
    return with_retries(queue, [&] { return consumer.on_tx_seen(*seen); });
  return with_retries(queue, [&] { return consumer.on_tx_dropped(std::get<TxDropped>(event)); });
}

bool Bus::has_recovered() const {
  for (const auto& queue : queues_) {
    std::lock_guard lock(queue->mutex);
    if (queue->recovered) return true;
  }
  return false;
}

void Bus::resume() {
  for (auto& queue : queues_) {
    std::lock_guard lock(queue->mutex);
    if (!queue->recovered) continue;
    log::info("consumer goes on", {{"consumer", queue->consumer->name()}});
    queue->recovered = false;
    queue->state = ConsumerState::kRunning;
    queue->problem.clear();
    queue->repair.clear();
  }
}

void Bus::wait_in(ConsumerQueue& queue, std::unique_lock<std::mutex>& lock) {
  const int wait_ms = std::max(queue.wait_ms, options_.first_wait_ms);
  const bool ended = queue.changed.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] {
    return queue.closed || queue.state != ConsumerState::kWaiting;
  });
  if (ended) return;
  queue.wait_ms = std::min(2 * wait_ms, options_.longest_wait_ms);
  lock.unlock();
  const Result<> there = queue.consumer->probe();
  if (!there && !is_outside(there.error()))
    stop_delivery(queue, ConsumerState::kHalted, there.error().message, queue.consumer->repair());
  lock.lock();
  if (queue.state != ConsumerState::kWaiting) return;
  queue.recovered = there.has_value();
  if (!there) queue.problem = there.error().message;
}

Result<std::optional<Position>> Bus::newest_block_below(std::string_view consumer,
                                                        std::uint64_t below_height) const {
  const ConsumerQueue* queue = find(consumer);
  if (queue == nullptr) return fail(Code::kNotFound, "no consumer {}", consumer);
  return queue->consumer->newest_block_below(below_height);
}

void Bus::run(ConsumerQueue& queue) {
  std::unique_lock lock(queue.mutex);
  for (;;) {
    while (queue.state == ConsumerState::kWaiting && !queue.recovered && !queue.closed)
      wait_in(queue, lock);
    queue.changed.wait(lock, [&] { return !queue.events.empty() || queue.closed; });
    if (queue.events.empty()) break;
    Event event = std::move(queue.events.front());
    queue.events.pop_front();
    queue.queued_bytes -= weight(event);
    queue.busy_since = std::chrono::steady_clock::now();
    queue.changed.notify_all();
    lock.unlock();
    Result<> result = handle(queue, event);
    lock.lock();
    queue.busy_since = std::chrono::steady_clock::now();
    if (const auto* applied = std::get_if<BlockApplied>(&event)) {
      queue.more = applied->behind > 0;
      queue.flush_at =
          std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.flush_delay_ms);
    }
    // A consumer that keeps up with the decoder would otherwise commit block by block.
    if (result && queue.more && queue.events.empty())
      queue.changed.wait_until(lock, queue.flush_at, [&] {
        return !queue.events.empty() || queue.closed || queue.drains > 0 ||
               queue.state != ConsumerState::kRunning;
      });
    // Flush once nothing more waits, so that held-back commits never outlast the burst.
    while (result && queue.events.empty() && !queue.idle &&
           queue.state == ConsumerState::kRunning) {
      queue.busy_since = std::chrono::steady_clock::now();
      lock.unlock();
      result = with_retries(queue, [&] { return queue.consumer->flush(); });
      lock.lock();
      if (result && queue.events.empty()) {
        queue.idle = true;
        queue.wait_ms = 0;
        queue.changed.notify_all();
      } else if (result) {
        break;
      }
    }
    if (!result && queue.state == ConsumerState::kRunning) {
      lock.unlock();
      const bool outside = is_outside(result.error());
      const bool waits = outside && queue.can_wait;
      stop_delivery(queue, waits ? ConsumerState::kWaiting : ConsumerState::kHalted,
                    result.error().message,
                    waits     ? std::string(kGoesOn)
                    : outside ? "remove the cause and start again"
                              : queue.consumer->repair());
      lock.lock();
    }
  }
}

Result<> Bus::drain() {
  for (auto& queue : queues_) {
    std::unique_lock lock(queue->mutex);
    ++queue->drains;
    queue->changed.notify_all();
    wait_for_consumer(*queue, lock, [&] { return queue->idle || stopping_; });
    --queue->drains;
  }
  if (stopping_) return fail(Code::kCancelled, "stopping");
  return {};
}

void Bus::stop() {
  if (!started_ || stopping_.exchange(true)) return;
  for (auto& queue : queues_) {
    std::lock_guard lock(queue->mutex);
    queue->closed = true;
    queue->changed.notify_all();
  }
  for (auto& queue : queues_)
    if (queue->thread.joinable()) queue->thread.join();
}

std::vector<ConsumerInfo> Bus::consumers() const {
  std::vector<ConsumerInfo> infos;
  for (const auto& queue : queues_) {
    std::lock_guard lock(queue->mutex);
    infos.push_back({std::string(queue->consumer->name()), queue->state,
                     queue->consumer->position(), queue->problem, queue->repair});
  }
  return infos;
}

std::uint64_t Bus::queued_events() const {
  std::uint64_t total = 0;
  for (const auto& queue : queues_) {
    std::lock_guard lock(queue->mutex);
    total += queue->events.size();
  }
  return total;
}

std::optional<Position> Bus::lowest_position() const {
  std::optional<Position> lowest;
  for (const ConsumerInfo& info : consumers())
    if (info.state == ConsumerState::kRunning &&
        (!lowest || info.position.block_count() < lowest->block_count()))
      lowest = info.position;
  return lowest;
}

}  // namespace coffer::bus
