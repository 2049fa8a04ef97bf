// /api/v1/events: the event log as Server-Sent Events, resumable by id, for many clients at once.
// An id is the number of its event in this log and a mark of what the event says, as 17-3fa1…: a
// client that comes with it to another replica, whose events have other numbers, is told so.
// Invariant: a client sees events without gap or repeat, or a `reset` event that says where it goes
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

// "17-3fa1…" of an event of this log. Thread-safe.
std::string event_id(const chainstate::LoggedEvent& event);

class EventHub {
 public:
  struct Options {
    std::size_t max_subscribers = 256;
    std::size_t batch_events = 256;          // read at once
    std::size_t batch_bytes = 256u << 10;    // sent at once
    std::size_t buffered_bytes = 64u << 10;  // a client with more than this waits its turn
    // The numbers are those of one log that all servers share: an id is the number alone.
    bool shared_log = false;
  };

  // One thread serves all; it starts here. `reader` must outlive the hub.
  EventHub(chainstate::EventReader& reader, Options options);
  ~EventHub();
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  // A StreamHandler: starts after Last-Event-ID, or ?after=, or ?last= events back, or with what
  // comes next. With an id that this log never gave it starts with a reset. A number alone counts
  // as an id of this log. Refuses what is no id (400), clients above the bound, and everybody while
  // the log cannot be read (503). Thread-safe.
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
    bool must_reset = false;  // it came with an id that is not of this log
  };
  // Where a client starts, and the id that it has then.
  struct Start {
    std::uint64_t after = 0;
    bool is_known = true;
    std::string id = {};
  };
  // Consecutive events as frames; made once for all clients at the same place.
  struct Batch {
    std::uint64_t after = 0;
    std::uint64_t first = 0;  // 0 if there is none
    std::uint64_t last = 0;
    bool more = false;
    std::string frames;
  };

  Result<Start> start_of(const http::Request& request) const;
  Result<Start> find_start(std::uint64_t after, std::optional<std::string_view> mark) const;
  std::string id_of(const chainstate::LoggedEvent& event) const;
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
