// Which handler answers a method and a path. Built once, then read by the server.
// Invariant: a literal segment wins over a parameter, and no two routes match the same request.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "http/event_stream.h"
#include "http/message.h"

namespace coffer::http {

using Handler = std::function<Response(const Request&)>;

// The answer to one request, from any thread, once: later calls are ignored. When its last copy
// goes uncalled the client gets 500. When the connection or the server is gone a call does nothing,
// so it may be kept as long as one likes. The caller's thread also runs Options::after.
using Respond = std::function<void(Response)>;

// Called on a worker; returns at once and answers later, without holding the worker meanwhile. The
// request lives as long as a copy of the Respond. Limits::pending_requests bounds how many wait.
// After Limits::answer_time the client gets 504; the answer that comes then goes to Options::after
// alone.
using AsyncHandler = std::function<void(const Request&, Respond)>;

// Called on a worker with the stream of a client. A Response refuses the stream; nothing opens it.
using StreamHandler =
    std::function<std::optional<Response>(const Request&, const std::shared_ptr<EventStream>&)>;

// How one route is served.
struct RouteOptions {
  std::size_t body_bytes = 0;  // of a request, → 413; 0 means Limits::body_bytes
  // Handlers that wait for another process, such as a database server, name a pool: its workers and
  // its queue are their own, so that nobody else waits for that process. Empty: the common workers.
  std::string pool = {};
  // The handler runs on the I/O thread: it only computes. It is answered whatever else hangs.
  bool on_io_thread = false;
};

struct RouteInfo {
  std::size_t id = 0;  // as add() returned it
  Method method = Method::kGet;
  std::string pattern;  // "/api/v1/utxos/{tx}/{index}": the name of the route in metrics
};

class Router {
 public:
  struct Route {
    RouteInfo info = {};
    Handler handler = nullptr;
    StreamHandler stream = nullptr;  // set instead of `handler`
    AsyncHandler async = nullptr;    // set instead of `handler`
    RouteOptions options = {};
  };

  Router();
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  // Ids count up from 0. A bad or repeated pattern is a bug and fails a CHECK. Not thread-safe.
  std::size_t add(Method method, std::string_view pattern, Handler handler,
                  RouteOptions options = {});
  std::size_t add_async(Method method, std::string_view pattern, AsyncHandler handler,
                        RouteOptions options = {});
  std::size_t add_stream(std::string_view pattern, StreamHandler handler,
                         RouteOptions options = {});

  // The names of the routes' pools, each once.
  std::set<std::string> pools() const;

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
