// What a Bitcoin node publishes by ZMQ (Core's doc/zmq.md): blocks and mempool changes, as hints of
// what to ask the node for. The only zmq include of the program is in the .cpp.
// Invariants: notices of one topic come in the order published; whenever some may be missing (a gap
// in the counter, a malformed message, a new connection, a full queue) a kLost stands in for them.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <coffer/base/bytes.h>

namespace coffer::feed {

struct ZmqNotice {
  enum class Kind : std::uint8_t {
    kTip,           // topic hashblock: the node's tip is this block
    kConnected,     // topic sequence: a block joined the node's chain
    kDisconnected,  // … or left it
    kAdded,         // a transaction joined the mempool
    kRemoved,       // … or left it for another reason than a block
    kLost,          // anything may have happened; the hash means nothing
  };
  Kind kind = Kind::kLost;
  Hash256 hash{};  // as hashed, not as printed
  friend bool operator==(const ZmqNotice&, const ZmqNotice&) = default;
};

// What a message says, without its counter. Nothing if it is malformed. Pure.
std::optional<ZmqNotice> parse_zmq_message(std::string_view topic, ByteView body);

struct ZmqTopic {
  std::string topic;    // "sequence" or "hashblock"
  std::string address;  // "tcp://host:port"
};

class ZmqSubscriber {
 public:
  // Connects in the background, again and again; but a publisher that sends more than any message
  // needs is left for good. `wake` is called from a thread of its own whenever
  // there is something to take. Errors: kUnavailable (an address that makes no sense, no sockets).
  static Result<std::unique_ptr<ZmqSubscriber>> start(std::vector<ZmqTopic> topics,
                                                      std::function<void()> wake,
                                                      std::size_t max_queued = 10'000);
  // Waits for a `wake` under way.
  ~ZmqSubscriber();
  ZmqSubscriber(const ZmqSubscriber&) = delete;
  ZmqSubscriber& operator=(const ZmqSubscriber&) = delete;

  // The oldest notice; never waits. Thread-safe.
  std::optional<ZmqNotice> take();
  bool pending() const;
  // Messages of the topic sequence come: one came since the last connection. Thread-safe.
  bool sequence_live() const { return sequence_live_; }

 private:
  struct Sockets;
  ZmqSubscriber(std::vector<ZmqTopic> topics, std::function<void()> wake, std::size_t max_queued);
  void run();
  void push(const ZmqNotice& notice);
  void receive_message(std::size_t stream);
  void receive_monitor_event(std::size_t stream);

  const std::vector<ZmqTopic> topics_;
  const std::function<void()> wake_;
  const std::size_t max_queued_;
  std::unique_ptr<Sockets> sockets_;
  std::atomic<bool> sequence_live_{false};
  mutable std::mutex mutex_;  // guards queue_
  std::deque<ZmqNotice> queue_;
  std::thread thread_;
};

}  // namespace coffer::feed
