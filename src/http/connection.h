// One connection, from accept to close. Internal to http.
// Invariant: everything here runs on the I/O thread, except handle(), which a worker runs while the
// connection is in kHandling; then the I/O thread leaves request_, route_ and response_ alone. An
// asynchronous handler gets a request of its own (pending.h) and never touches the connection.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "http/body_budget.h"
#include "http/connection_table.h"
#include "http/pending.h"
#include "http/server.h"
#include "http/stream_buffer.h"
#include "http/transport.h"
#include "http/url.h"
#include "http/worker_pool.h"

namespace coffer::http {

using SteadyTime = std::chrono::steady_clock::time_point;
inline SteadyTime now() {
  return std::chrono::steady_clock::now();
}

inline std::string_view to_view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

inline constexpr std::size_t kReadBytes = 16u << 10;  // at a time

// What the connections of one server share. Fields below `io` belong to the I/O thread.
struct Context {
  Context(Options o, Router r)
      : options(std::move(o)), router(std::move(r)), hosts(options.allowed_hosts) {
    for (const std::string& name : router.pools())
      pools.try_emplace(name, options.limits.pool_workers, options.limits.queued_requests);
  }
  WorkerPool& pool_of(const Router::Route& route) {
    const auto found = pools.find(route.options.pool);
    return found == pools.end() ? pool : found->second;
  }

  const Options options;
  const Router router;
  const HostList hosts;
  asio::io_context io{1};
  ConnectionTable connections{options.limits};
  std::size_t streams = 0;
  bool stopping = false;
  std::string date;                 // of now, to the second
  std::function<void()> on_closed;  // after each connection that has gone
  const std::shared_ptr<PendingRequests> pending =
      std::make_shared<PendingRequests>(options.limits.pending_requests);
  const std::shared_ptr<BodyBudget> bodies =
      std::make_shared<BodyBudget>(options.limits.total_body_bytes);
  // Last, so that its threads end before what they use.
  WorkerPool pool{options.limits.workers, options.limits.queued_requests};
  std::map<std::string, WorkerPool> pools;  // by RouteOptions::pool
};

// Who is at the other end.
struct Peer {
  std::string name = {};   // address and port; "local" through a Unix socket
  std::string group = {};  // of all addresses that one client may have: see peer_group()
  bool is_loopback = false;
  bool is_local = false;  // through a Unix socket
};
Peer peer_of(const tcp::socket& socket);

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Context& context, Peer peer, StreamSocket socket, TlsContext tls);

  // Where it stands in Context::connections.
  ConnectionTable::Place& place() { return place_; }
  const Peer& peer() const { return peer_; }

  void start();
  // Answers 503 and closes: there are too many connections.
  void turn_away();
  // Closes what has waited too long; keeps streams alive.
  void tick(SteadyTime now);
  // Ends as soon as the request in flight is answered.
  void begin_stop();
  void close();

 private:
  enum class State {
    kHandshake,
    kIdle,
    kReading,
    kHandling,
    kWriting,
    kStreaming,
    kLingering,
    kClosed
  };
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void set_state(State state, std::chrono::milliseconds time);
  void next_request();
  void read_some();
  void on_read(error_code error, std::size_t bytes);
  void parse();
  bool begin_body();
  std::optional<Response> take_header();
  std::optional<Response> take_body_share();
  void refuse(Response response);
  void continue_or_read();
  void refuse_malformed(error_code error);

  void dispatch();
  void dispatch_async();
  void handle();
  Response run_handler();
  void on_answer(Response response);
  void answer_now(Response response);
  void report(const RouteInfo* route, const Response& response, bool handled);

  void write_response();
  void finish();
  void linger();

  void start_stream();
  void pump_stream();

  Context& context_;
  const Limits& limits_;
  Transport transport_;
  State state_ = State::kHandshake;
  SteadyTime deadline_ = SteadyTime::max();
  SteadyTime received_;  // when the request was whole
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::size_t requests_ = 0;
  std::size_t lingered_bytes_ = 0;
  bool keep_alive_ = false;
  bool continued_ = false;  // 100 Continue was sent
  bool is_async_ = false;   // an AsyncHandler has the request, not request_

  ConnectionTable::Place place_;
  const Peer peer_;
  Request request_;
  BodyBudget::Share body_share_;  // of request_
  const Router::Route* route_ = nullptr;
  Response response_;
  std::string head_;

  std::shared_ptr<StreamBuffer> stream_;
  bool opens_stream_ = false;    // the handler took the stream; the worker's, as response_ is
  bool stream_is_open_ = false;  // its head went out
  bool stream_writing_ = false;
  SteadyTime stream_last_write_;
  std::string stream_out_;
};

}  // namespace coffer::http
