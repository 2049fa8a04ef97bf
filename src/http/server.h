// An HTTP/1.1 server: one I/O thread, a bounded pool of workers for the handlers, a bound on
// everything. Invariant: whatever bytes a client sends, or how slowly, costs at most what Limits
// allows.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "http/router.h"

namespace coffer::http {

struct TlsFiles {
  std::filesystem::path cert;  // PEM, the server's own first, then its chain
  std::filesystem::path key;   // PEM, not encrypted
};

struct Limits {
  std::size_t header_bytes = 16u << 10;       // → 431
  std::size_t body_bytes = 1u << 20;          // → 413; RouteLimits can say otherwise
  std::size_t total_body_bytes = 256u << 20;  // of all requests at a time; → 503
  // Above these an idle connection is closed to make room; without one → 503, then closed.
  std::size_t connections = 5120;
  std::size_t connections_per_address = 512;  // of an IPv4 address or an IPv6 /64
  std::size_t loopback_connections = 4096;
  std::size_t requests_per_connection = 10'000;
  std::size_t workers = 4;
  std::size_t pool_workers = 4;                    // of each pool that RouteOptions::pool names
  std::size_t queued_requests = 256;               // waiting for a worker of one pool; → 503
  std::size_t pending_requests = 4096;             // of AsyncHandlers, not yet answered; → 503
  std::size_t stream_buffer_bytes = 1u << 20;      // per stream; above it the client is dropped
  std::chrono::milliseconds request_time{10'000};  // from first to last byte of a request; → 408
  std::chrono::milliseconds idle_time{60'000};     // between requests
  std::chrono::milliseconds write_time{30'000};    // for one answer, or one piece of a stream
  std::chrono::milliseconds answer_time{60'000};   // for an AsyncHandler; → 504
  std::chrono::milliseconds stream_keep_alive{15'000};
};

struct Finished {
  int status = 0;
  std::uint64_t bytes = 0;                // of the body
  std::chrono::microseconds duration{0};  // from the whole request read to the answer ready
  bool handled = false;                   // its handler was called
};

struct Options {
  std::string listen = "127.0.0.1:8080";  // or "[::1]:8080"; port 0 takes any free one
  // Also listens on this Unix socket, without TLS, for programs of this user and root: see
  // listen_local(). Empty: it does not.
  std::filesystem::path local_socket;
  std::vector<std::string> allowed_hosts;  // beside loopback's names; others in Host get 403
  std::optional<TlsFiles> tls;
  Limits limits;

  // Who may ask, once the header is there and before a body is read: an answer ends the request,
  // and if it has a body the connection. On the I/O thread, so it only computes.
  std::function<std::optional<Response>(const Request&, const RouteInfo&)> authorize;
  // Before a handler runs, on its worker. An answer ends the request there.
  std::function<std::optional<Response>(const Request&, const RouteInfo&)> before;
  // Before an answer goes out: on the worker, or the thread that called Respond, so it may write a
  // file. For a request that was refused before (then it is not `handled`; without a route if it
  // is malformed or unknown, or if its handler left it unanswered for too long), and for a route
  // of the I/O thread, the call is on the I/O thread: it must only count.
  std::function<void(const Request&, const RouteInfo*, const Finished&)> after;
};

// True if everything that `listen` can reach is on this machine. Errors: kUsage.
Result<bool> is_loopback_address(const std::string& listen);

class Server {
 public:
  // Serves as soon as this returns. Raises the process's limit of open files, as far as the system
  // lets it, to what Limits::connections needs. Errors: kUsage (address), kUnavailable (port in
  // use, permission), kNotFound and kInvalidInput (TLS files); those of listen_local.
  static Result<std::unique_ptr<Server>> start(Options options, Router router);

  // Stops within 5 seconds if nobody did.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // "127.0.0.1:8080" with the real port. Thread-safe.
  const std::string& address() const;
  // "http://127.0.0.1:8080". Thread-safe.
  std::string url() const;

  // Reads the TLS files again; connections made from now on use them. If they are bad the old ones
  // stay. Errors: kUsage without TLS, kNotFound, kInvalidInput. Thread-safe.
  Result<> reload_tls();

  // No new connections; requests in flight are answered and streams ended, within the timeout; then
  // the rest is cut, and a Respond called later does nothing. Returns when no handler runs any
  // more. Thread-safe, idempotent; not from a handler.
  void stop(std::chrono::milliseconds timeout);

  struct Counts {
    std::size_t connections = 0;
    std::size_t streams = 0;
    std::size_t pending = 0;     // requests that an AsyncHandler has not answered yet
    std::size_t body_bytes = 0;  // that the requests in flight may take
  };
  // Thread-safe.
  Counts counts() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace coffer::http
