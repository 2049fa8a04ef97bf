// An open answer that a handler keeps writing to: Server-Sent Events.
// Invariant: what is buffered for one client is bounded; a client that does not keep up is dropped.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace coffer::http {

class EventStream {
 public:
  virtual ~EventStream() = default;

  // Everything here is thread-safe and returns at once. The stream may outlive its server.

  // Queues a frame (with its empty line). False once the stream is closed; also when the frame
  // would exceed the buffer, and then the client is dropped.
  virtual bool send(std::string_view frame) = 0;

  // Ends the answer after what is queued.
  virtual void close() = 0;
  virtual bool closed() const = 0;

  // Bytes queued and not yet taken by the operating system.
  virtual std::size_t buffered() const = 0;

  // Called once, on the server's I/O thread, or at once if the stream is closed already.
  // It must return quickly and must not call stop() of the server.
  virtual void on_close(std::function<void()> callback) = 0;

  // Called on the server's I/O thread each time the buffer runs empty: the moment to send more.
  virtual void on_drained(std::function<void()> callback) = 0;
};

}  // namespace coffer::http
