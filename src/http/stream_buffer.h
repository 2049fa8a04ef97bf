// The EventStream of one connection: frames from any thread in, one string at a time out to the
// socket. Invariant: after end() nothing of the server is touched, so a stream may outlive it.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "http/event_stream.h"

namespace coffer::http {

class StreamBuffer final : public EventStream {
 public:
  // `schedule` asks the I/O thread to call take(); it is called with the lock held, so it only
  // posts.
  StreamBuffer(std::size_t limit, std::function<void()> schedule);

  bool send(std::string_view frame) override;
  void close() override;
  bool closed() const override;
  std::size_t buffered() const override;
  void on_close(std::function<void()> callback) override;
  void on_drained(std::function<void()> callback) override;

  // For the connection, on the I/O thread.
  enum class Next { kNothing, kWrite, kFinish, kDrop };
  // Moves what is queued into `out`, unless a write is under way (`busy`). kFinish once closed and
  // empty; kDrop when the client was too slow, also in the middle of a write.
  Next take(std::string& out, bool busy);
  // What take() gave is with the operating system.
  void written();
  // The connection is gone.
  void end();

 private:
  void schedule();

  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::function<void()> schedule_;
  std::function<void()> on_close_, on_drained_;
  std::string pending_;
  std::size_t in_flight_ = 0;
  bool scheduled_ = false;
  bool closed_ = false;    // no more frames
  bool overflow_ = false;  // the client was too slow
  bool ended_ = false;     // the connection is gone
};

}  // namespace coffer::http
