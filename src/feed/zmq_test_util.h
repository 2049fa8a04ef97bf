// For tests: publishes what a Bitcoin node would, from a real socket on loopback.
#pragma once

#include <gtest/gtest.h>
#include <zmq.h>

#include <set>
#include <string>
#include <vector>

#include <coffer/base/bytes.h>
#include "base/check.h"

namespace coffer::feed {

inline constexpr int kNever = 3'600'000;  // ms, to poll only when told to

// Body of a message of topic "sequence" as Core's doc/zmq.md has it: the hash as printed, the
// label, and for transactions ('A', 'R') the mempool's sequence number in little endian.
inline Bytes sequence_body(const Hash256& hash, char label, std::uint64_t mempool_sequence = 1) {
  const Hash256 printed = reversed(hash);
  Bytes body(printed.begin(), printed.end());
  body.push_back(static_cast<std::uint8_t>(label));
  for (int i = 0; (label == 'A' || label == 'R') && i < 8; ++i)
    body.push_back(static_cast<std::uint8_t>(mempool_sequence >> (8 * i)));
  return body;
}
inline Bytes hashblock_body(const Hash256& hash) {
  const Hash256 printed = reversed(hash);
  return Bytes(printed.begin(), printed.end());
}

class ZmqPublisher {
 public:
  // On any free port, or on that of one that is gone.
  explicit ZmqPublisher(const std::string& address = "tcp://127.0.0.1:*") {
    // An XPUB is a PUB that also tells who subscribed: a test need not guess when.
    socket_ = ::zmq_socket(context_, ZMQ_XPUB);
    const int none = 0, yes = 1;
    CHECK(::zmq_setsockopt(socket_, ZMQ_LINGER, &none, sizeof none) == 0);
    CHECK(::zmq_setsockopt(socket_, ZMQ_XPUB_VERBOSE, &yes, sizeof yes) == 0);
    CHECK(::zmq_bind(socket_, address.c_str()) == 0);
    char bound[256];
    std::size_t size = sizeof bound;
    CHECK(::zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, bound, &size) == 0);
    address_ = bound;
  }
  ~ZmqPublisher() {
    ::zmq_close(socket_);
    ::zmq_ctx_term(context_);
  }
  ZmqPublisher(const ZmqPublisher&) = delete;
  ZmqPublisher& operator=(const ZmqPublisher&) = delete;

  const std::string& address() const { return address_; }

  // Waits until there was a subscription to each of them; false after 10 seconds without one.
  bool subscribed(std::set<std::string> topics) {
    while (!topics.empty()) {
      zmq_pollitem_t item{socket_, 0, ZMQ_POLLIN, 0};
      if (::zmq_poll(&item, 1, 10'000) != 1) return false;
      char message[64];  // 1, then the topic
      const int size = ::zmq_recv(socket_, message, sizeof message, 0);
      if (size > 0 && message[0] == 1)
        topics.erase(std::string(message + 1, static_cast<std::size_t>(size - 1)));
    }
    return true;
  }

  void send(const std::vector<Bytes>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      CHECK(::zmq_send(socket_, parts[i].data(), parts[i].size(),
                       i + 1 < parts.size() ? ZMQ_SNDMORE : 0) >= 0);
  }
  // As the node sends it, with the counter of that topic.
  void publish(std::string_view topic, const Bytes& body, std::uint32_t counter) {
    Bytes number;
    for (int i = 0; i < 4; ++i) number.push_back(static_cast<std::uint8_t>(counter >> (8 * i)));
    send({Bytes(topic.begin(), topic.end()), body, number});
  }

 private:
  void* context_ = ::zmq_ctx_new();
  void* socket_ = nullptr;
  std::string address_;
};

}  // namespace coffer::feed
