// /api/v1/events: the event log as Server-Sent Events, resumable by id, for many clients at once.
// Invariant: a client sees ids without gap or repeat, or a `reset` event that says where it goes
// on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "chainstate/event_reader.h"
#include "http/event_stream.h"
#include "http/message.h"

namespace coffer::api {

class EventHub {
 public:
  struct Options {
    std::size_t max_subscribers = 256;
    std::size_t batch_events = 256;          // read at once
    std::size_t batch_bytes = 256u << 10;    // sent at once
    std::size_t buffered_bytes = 64u << 10;  // a client with more than this waits its turn
  };

  // One thread serves all; it starts here. `reader` must outlive the hub.
  EventHub(chainstate::EventReader& reader, Options options);
  ~EventHub();
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  // A StreamHandler: starts after Last-Event-ID, or ?after=, or ?last= events back, or with what
  // comes next.
  // Refuses an id that is no number (400) and clients above the bound (503). Thread-safe.
  std::optional<http::Response> subscribe(const http::Request& request,
                                          const std::shared_ptr<http::EventStream>& stream);
  // Thread-safe.
  std::size_t subscribers() const;

  // Closes every stream. Idempotent.
  void stop();

 private:
  struct Signal;
  struct Subscriber {
    std::shared_ptr<http::EventStream> stream;
    std::uint64_t after = 0;
  };
  // Consecutive events as frames; made once for all clients at the same place.
  struct Batch {
    std::uint64_t after = 0;
    std::uint64_t first = 0;  // 0 if there is none
    std::uint64_t last = 0;
    bool more = false;
    std::string frames;
  };

  std::optional<std::uint64_t> start_of(const http::Request& request) const;
  void run();
  bool serve_all();
  bool serve(Subscriber& subscriber, std::optional<Batch>& batch);
  bool reset(Subscriber& subscriber, std::uint64_t first, std::uint64_t last);
  Result<Batch> read_batch(std::uint64_t after) const;

  chainstate::EventReader& reader_;
  const Options options_;
  const std::shared_ptr<Signal> signal_;  // outlives the hub in callbacks of streams
  std::vector<Subscriber> subscribers_;   // the thread's own
  std::thread thread_;
};

}  // namespace coffer::api
