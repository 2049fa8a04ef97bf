// Counts and times of HTTP requests, by route pattern: never by path, which a client chooses.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

#include "api/metrics.h"
#include "http/server.h"

namespace coffer::api {

// Thread-safe.
class RequestMetrics {
 public:
  explicit RequestMetrics(Metrics& metrics) : metrics_(metrics) {}
  // A request that reached no route counts under "none".
  void record(const http::Request& request, const http::RouteInfo* info,
              const http::Finished& finished);

 private:
  struct Handles {
    Counter requests;
    Counter bytes;
    Histogram duration;
  };
  using Key = std::tuple<std::size_t, http::Method, int>;  // route, method, status

  Metrics& metrics_;
  std::mutex mutex_;
  std::map<Key, Handles> handles_;
};

}  // namespace coffer::api
