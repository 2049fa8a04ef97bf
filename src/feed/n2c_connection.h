// A connection to a node's Unix socket that whole messages go through. It never blocks without a
// time limit, and another thread can end its waits.
#pragma once

#include <atomic>
#include <filesystem>

#include <coffer/base/clock.h>
#include "feed/n2c_codec.h"

namespace coffer::feed::n2c {

// One thread uses it; only interrupt() may be called from others.
class Connection {
 public:
  explicit Connection(const Clock& clock);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Drops the connection there is, if any, and makes a new one. Errors: kUnavailable, kCancelled,
  // kUsage for a path that is too long for a socket.
  Result<> open(const std::filesystem::path& socket);
  void close();
  bool is_open() const { return fd_ >= 0; }

  // All of them leave the connection closed when they fail.
  // Sends the message `times` times. Errors: kUnavailable (lost, or stuck for timeout_ms),
  // kCancelled.
  Result<> send(std::uint16_t protocol, ByteView message, int times, int timeout_ms);
  // The next message, or nothing after timeout_ms. Errors: kUnavailable, kCancelled; kInvalidInput
  // and kTooLarge for what a node does not send.
  Result<std::optional<Bytes>> receive(std::uint16_t protocol, int timeout_ms);

  // Ends a wait, now and from now on. Thread-safe.
  void interrupt();
  bool interrupted() const { return interrupted_; }

 private:
  // Waits until the socket is ready for `events`. False: the time is over.
  Result<bool> wait_until(short events, std::int64_t deadline_ms);
  Result<> send_all(ByteView data, int timeout_ms);
  Result<std::optional<Bytes>> try_receive(std::uint16_t protocol, int timeout_ms);

  const Clock& clock_;
  int fd_ = -1;
  int wake_fd_ = -1;
  Demultiplexer demultiplexer_;
  std::atomic<bool> interrupted_{false};
};

}  // namespace coffer::feed::n2c
