// Delivers events to consumers: each in order, on a thread of its own, behind a bounded queue.
// Invariants: a consumer sees every block of its chain exactly once, each extending the one before;
// a full queue makes the publisher wait; a consumer that fails halts, or waits, alone (E10), and
// one that hangs keeps nobody for long (E13).
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <coffer/bus/consumer.h>

namespace coffer::bus {

// kWaiting: what it stands on is away. It is asked again and again, and hears nothing until
// resume().
enum class ConsumerState : std::uint8_t { kRunning, kWaiting, kHalted };

struct ConsumerInfo {
  std::string name;
  ConsumerState state = ConsumerState::kRunning;
  Position position;
  std::string problem;  // set when waiting or halted
  std::string repair;
};

struct BusOptions {
  std::size_t queue_events = 1024;      // per consumer
  std::size_t queue_bytes = 64u << 20;  // per consumer; one larger event still passes
  int retries = 5;                      // of a retryable error, doubling the pause each time
  int first_pause_ms = 50;
  int first_wait_ms = 500;  // before a waiting consumer is asked again, doubling until it gets on
  int longest_wait_ms = 10'000;
  // How long a consumer that can wait may be busy with one event while others wait for it. Then it
  // is a waiting one.
  int patience_ms = 10'000;
  int flush_delay_ms = 500;  // how long an empty queue is not yet a reason to flush, when behind
};

class Bus {
 public:
  explicit Bus(BusOptions options = {});
  ~Bus();

  // Before start(). The consumer must outlive the bus.
  void add(Consumer& consumer);
  void start();

  // Hands the event to every running consumer; waits while one of them is full, but not for one
  // that can wait and hangs. One publisher at a time. Errors: kCancelled once stopped.
  Result<> publish(const Event& event);

  // Tells one consumer to leave a stale branch, before or between publishes.
  // Errors: kNotFound, kCancelled.
  Result<> publish_to(std::string_view consumer, const Event& event);
  // Halts one consumer from outside, e.g. when its position is on no chain we know.
  void halt(std::string_view consumer, std::string problem);

  // Whether a waiting consumer could go on. Thread-safe.
  bool has_recovered() const;
  // Those consumers run again, from where they stand: the publisher then goes back for them.
  void resume();
  // Asks one consumer. Errors also: kNotFound if there is none of that name.
  Result<std::optional<Position>> newest_block_below(std::string_view consumer,
                                                     std::uint64_t below_height) const;

  // Waits until everything published so far is handled and flushed. Errors: kCancelled once
  // stopped.
  Result<> drain();

  // Handles what is queued, flushes and ends the threads. Idempotent.
  void stop();

  // Thread-safe.
  std::vector<ConsumerInfo> consumers() const;
  std::uint64_t queued_events() const;
  // The position from which every running consumer can be fed; nothing if none is running.
  std::optional<Position> lowest_position() const;

 private:
  struct ConsumerQueue;
  ConsumerQueue* find(std::string_view name) const;
  Result<> enqueue(ConsumerQueue& queue, const Event& event);
  // Until the condition holds, which may depend on its queue and state.
  void wait_for_consumer(ConsumerQueue& queue, std::unique_lock<std::mutex>& lock,
                         const std::function<bool()>& done);
  void run(ConsumerQueue& queue);
  Result<> handle(ConsumerQueue& queue, const Event& event);
  Result<> with_retries(ConsumerQueue& queue, const std::function<Result<>()>& call);
  void stop_delivery(ConsumerQueue& queue, ConsumerState state, std::string problem,
                     std::string repair);
  void wait_in(ConsumerQueue& queue, std::unique_lock<std::mutex>& lock);

  BusOptions options_;
  std::vector<std::unique_ptr<ConsumerQueue>> queues_;
  std::atomic<bool> stopping_{false};
  bool started_ = false;
};

}  // namespace coffer::bus
