// Which handler answers a method and a path. Built once, then read by the server.
// Invariant: a literal segment wins over a parameter, and no two routes match the same request.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/event_stream.h"
#include "http/message.h"

namespace coffer::http {

using Handler = std::function<Response(const Request&)>;

// Called on a worker with the stream of a client. A Response refuses the stream; nothing opens it.
using StreamHandler =
    std::function<std::optional<Response>(const Request&, const std::shared_ptr<EventStream>&)>;

struct RouteInfo {
  std::size_t id = 0;  // as add() returned it
  Method method = Method::kGet;
  std::string pattern;  // "/api/v1/utxos/{tx}/{index}": the name of the route in metrics
};

class Router {
 public:
  struct Route {
    RouteInfo info;
    Handler handler;
    StreamHandler stream;  // set instead of `handler`
  };

  Router();
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  // Ids count up from 0. A bad or repeated pattern is a bug and fails a CHECK. Not thread-safe.
  std::size_t add(Method method, std::string_view pattern, Handler handler);
  std::size_t add_stream(std::string_view pattern, StreamHandler handler);

  struct Match {
    const Route* route = nullptr;
    Fields params;           // decoded
    std::string allow;       // set when the path is known but the method is not: 405
    bool malformed = false;  // a bad escape in a parameter: 400
  };
  // `raw_path` is not decoded, so that an encoded '/' stays inside its segment. A HEAD without a
  // route of its own goes to GET. Thread-safe once built; costs a look-up a segment.
  Match match(std::optional<Method> method, std::string_view raw_path) const;

 private:
  struct Node;
  std::size_t insert(Method method, std::string_view pattern, Route route);

  std::unique_ptr<Node> root_;
  std::deque<Route> routes_;
};

}  // namespace coffer::http
