// What happens in a community as Server-Sent Events, by position in its log: an event's id is the
// position of its entry plus one. Invariant: a client sees positions without gap or repeat, or a
// reset that says where it goes on.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/events.h"
#include "token/log/log.h"

namespace coffer::token {

// The log of one community as the event hub reads it; a thread looks for what is new.
class LogEvents;

// Thread-safe.
class CommunityEvents {
 public:
  CommunityEvents();
  ~CommunityEvents();  // closes every stream

  // A StreamHandler for a client that may read the whole history. The first client of a community
  // starts its threads.
  std::optional<http::Response> subscribe(Store& store, const http::Request& request,
                                          const std::shared_ptr<http::EventStream>& stream);

 private:
  struct Feed;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Feed>, std::less<>> feeds_;
};

}  // namespace coffer::token
