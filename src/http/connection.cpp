#include "http/connection.h"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include <boost/asio/post.hpp>

#include <coffer/base/log.h>
#include "base/result.h"
#include "http/peer_group.h"
#include "http/wire.h"

namespace coffer::http {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReservedTime{2000};  // of each step: the few places are wanted again
constexpr milliseconds kLingerTime{1000};
constexpr milliseconds kLingerTimeWhenStopping{200};
constexpr std::string_view kKeepAlive = ": keep-alive\n\n";

}  // namespace

Peer peer_of(const tcp::socket& socket) {
  error_code error;
  auto endpoint = socket.remote_endpoint(error);
  if (error) return {};
  auto address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return {.name = fmt::format(fmt::runtime(address.is_v6() ? "[{}]:{}" : "{}:{}"),
                              address.to_string(), endpoint.port()),
          .group = http::peer_group(address.to_string()).value_or(""),
          .is_loopback = address.is_loopback()};
}

Connection::Connection(Context& context, Peer peer, StreamSocket socket, TlsContext tls)
    : context_(context),
      limits_(context.options.limits),
      transport_(std::move(socket), std::move(tls)),
      buffer_(limits_.header_bytes + kReadBytes),
      peer_(std::move(peer)) {}

void Connection::set_state(State state, milliseconds time) {
  state_ = state;
  if (place_.kind == ConnectionTable::Kind::kReserved) time = std::min(time, kReservedTime);
  deadline_ = now() + time;
  context_.connections.set_idle(*this, state == State::kIdle || state == State::kHandshake);
}

void Connection::start() {
  error_code ignored;
  transport_.socket().set_option(tcp::no_delay(true), ignored);
  if (!transport_.is_tls()) return next_request();
  set_state(State::kHandshake, limits_.request_time);
  transport_.tls().async_handshake(asio::ssl::stream_base::server,
                                   [self = shared_from_this()](error_code error) {
                                     if (self->state_ != State::kHandshake) return;
                                     if (error) return self->close();
                                     self->next_request();
                                   });
}

void Connection::turn_away() {
  if (transport_.is_tls()) return close();
  answer_now(problem(503, "unavailable", "too many connections; try again soon"));
}

void Connection::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  auto self = shared_from_this();
  transport_.close();
  if (stream_is_open_) --context_.streams;
  body_share_.reset();
  if (stream_) stream_->end();
  context_.connections.remove(*this);
  context_.on_closed();
}

void Connection::tick(SteadyTime time) {
  if (state_ == State::kStreaming && !stream_writing_) {
    if (time - stream_last_write_ >= limits_.stream_keep_alive) stream_->send(kKeepAlive);
    return;
  }
  if (time < deadline_ || (state_ == State::kHandling && !is_async_)) return;
  if (state_ == State::kHandling)
    return answer_now(problem(504, "timeout", "there was no answer in time"));
  if (state_ != State::kReading) return close();
  error_code ignored;
  transport_.socket().cancel(ignored);
  answer_now(problem(408, "request_timeout", "the request took too long to arrive"));
}

void Connection::begin_stop() {
  if (state_ == State::kIdle || state_ == State::kHandshake) return close();
  if (state_ == State::kStreaming) stream_->close();
}

// ---- handling

void Connection::dispatch() {
  received_ = now();
  request_.body = std::move(parser_->get().body());
  state_ = State::kHandling;
  is_async_ = false;
  opens_stream_ = false;
  if (route_->options.on_io_thread) return handle();
  if (route_->async) return dispatch_async();
  if (route_->stream && request_.method == Method::kGet) {
    stream_ = std::make_shared<StreamBuffer>(limits_.stream_buffer_bytes,
                                             [weak = weak_from_this(), &io = context_.io] {
                                               asio::post(io, [weak] {
                                                 if (auto self = weak.lock()) self->pump_stream();
                                               });
                                             });
  }
  if (context_.pool_of(*route_).try_submit([self = shared_from_this()] { self->handle(); })) return;
  response_ = problem(503, "unavailable", "too many requests are waiting; try again soon");
  report(&route_->info, response_, false);
  write_response();
}

namespace {

void run_async(const Context& context, const Router::Route& route,
               const std::shared_ptr<PendingRequest>& pending) {
  try {
    const Request& request = pending->request();
    if (context.options.before)
      if (auto refused = context.options.before(request, route.info))
        return pending->answer(std::move(*refused));
    route.async(request, [pending](Response response) { pending->answer(std::move(response)); });
  } catch (const std::exception& error) {
    log::error("handler failed", {{"route", route.info.pattern}, {"problem", error.what()}});
    pending->answer(
        problem(500, "internal", "an unexpected error; the log has more", pending->request().path));
  }
}

void report_to(const Options& options, const Request& request, const RouteInfo* route,
               const Response& response, SteadyTime received, bool handled) {
  if (!options.after) return;
  Finished finished;
  finished.status = response.status;
  finished.bytes = response.content().size();
  finished.duration = std::chrono::duration_cast<std::chrono::microseconds>(now() - received);
  finished.handled = handled;
  options.after(request, route, finished);
}

}  // namespace

void Connection::dispatch_async() {
  const auto deliver = [weak = weak_from_this(), &context = context_, route = route_,
                        received = received_](const Request& request, Response response) {
    report_to(context.options, request, &route->info, response, received, true);
    asio::post(context.io, [weak, response = std::move(response)]() mutable {
      if (auto self = weak.lock()) self->on_answer(std::move(response));
    });
  };
  Request request = std::exchange(request_, {});
  request_.method = request.method;  // decides whether the answer has a body
  if (auto pending = context_.pending->add(std::move(request), std::move(body_share_), deliver)) {
    is_async_ = true;
    deadline_ = now() + limits_.answer_time;
    // The bound on pending requests is the bound on these jobs.
    context_.pool_of(*route_).submit(
        [&context = context_, route = route_, pending = std::move(pending)] {
          run_async(context, *route, pending);
        });
    return;
  }
  response_ = problem(503, "unavailable", "too many requests are waiting; try again soon");
  report(&route_->info, response_, false);
  write_response();
}

void Connection::on_answer(Response response) {
  if (state_ != State::kHandling) return;  // cut, or answered with 504
  response_ = std::move(response);
  write_response();
}

// On a worker, or on the I/O thread if the route says so.
void Connection::handle() {
  try {
    response_ = run_handler();
  } catch (const std::exception& error) {
    log::error("handler failed", {{"route", route_->info.pattern}, {"problem", error.what()}});
    opens_stream_ = false;
    response_ = problem(500, "internal", "an unexpected error; the log has more", request_.path);
  }
  report(&route_->info, response_, true);
  asio::post(context_.io, [self = shared_from_this()] {
    if (self->state_ != State::kHandling) return;  // cut while the handler ran
    if (self->opens_stream_)
      self->start_stream();
    else
      self->write_response();
  });
}

Response Connection::run_handler() {
  if (context_.options.before)
    if (auto refused = context_.options.before(request_, route_->info)) return std::move(*refused);
  if (route_->handler) return route_->handler(request_);
  Response head;
  head.content_type = "text/event-stream";
  head.headers.push_back({"X-Accel-Buffering", "no"});  // a proxy passes each event on at once
  if (request_.method == Method::kHead) return head;
  opens_stream_ = true;
  if (auto refused = route_->stream(request_, stream_)) {
    opens_stream_ = false;
    return std::move(*refused);
  }
  return head;
}

void Connection::report(const RouteInfo* route, const Response& response, bool handled) {
  report_to(context_.options, request_, route, response, received_, handled);
}

// ---- answering

// For a request that did not become whole: what follows on the connection cannot be trusted.
void Connection::answer_now(Response response) {
  received_ = now();
  request_ = {};
  request_.remote = peer_.name;
  request_.peer_group = peer_.group;
  response_ = std::move(response);
  keep_alive_ = false;
  report(nullptr, response_, false);
  write_response();
}

void Connection::write_response() {
  if (stream_) {  // refused: it never began
    stream_->end();
    stream_.reset();
  }
  keep_alive_ = keep_alive_ && !context_.stopping;
  set_state(State::kWriting, limits_.write_time);
  head_ = response_head(
      response_, {.keep_alive = keep_alive_, .is_tls = transport_.is_tls(), .date = context_.date});
  bool bodiless = request_.method == Method::kHead || response_.status == 204;
  std::string_view body = bodiless ? std::string_view() : response_.content();
  std::array<asio::const_buffer, 2> buffers{asio::buffer(head_), asio::buffer(body)};
  transport_.write(buffers, [self = shared_from_this()](error_code error, std::size_t) {
    if (self->state_ != State::kWriting) return;
    if (error) return self->close();
    if (!self->keep_alive_) return self->finish();
    self->next_request();
  });
}

void Connection::finish() {
  set_state(State::kLingering, context_.stopping ? kLingerTimeWhenStopping : kLingerTime);
  if (!transport_.is_tls()) return linger();
  transport_.tls().async_shutdown([self = shared_from_this()](error_code) { self->close(); });
}

// Closing with unread bytes would reset the connection and could take the answer from the client.
void Connection::linger() {
  error_code error;
  transport_.socket().shutdown(tcp::socket::shutdown_send, error);
  if (error) return close();
  buffer_.clear();
  read_some();
}

// ---- streaming

void Connection::start_stream() {
  ++context_.streams;
  stream_is_open_ = true;
  set_state(State::kStreaming, limits_.write_time);
  stream_last_write_ = now();
  stream_writing_ = true;
  keep_alive_ = false;
  buffer_.clear();
  head_ = response_head(
      response_, {.with_length = false, .is_tls = transport_.is_tls(), .date = context_.date});
  transport_.write(asio::buffer(head_), [self = shared_from_this()](error_code error, std::size_t) {
    if (self->state_ != State::kStreaming) return;
    if (error) return self->close();
    self->stream_writing_ = false;
    self->pump_stream();
  });
  if (context_.stopping) stream_->close();
  read_some();
}

void Connection::pump_stream() {
  if (state_ != State::kStreaming) return;
  switch (stream_->take(stream_out_, stream_writing_)) {
    case StreamBuffer::Next::kNothing: return;
    case StreamBuffer::Next::kFinish: return close();
    case StreamBuffer::Next::kDrop:
      log::info("slow stream dropped", {{"remote", peer_.name}, {"route", route_->info.pattern}});
      return close();
    case StreamBuffer::Next::kWrite: break;
  }
  stream_writing_ = true;
  deadline_ = now() + limits_.write_time;
  transport_.write(asio::buffer(stream_out_),
                   [self = shared_from_this()](error_code error, std::size_t) {
                     if (self->state_ != State::kStreaming) return;
                     if (error) return self->close();
                     self->stream_writing_ = false;
                     self->stream_last_write_ = now();
                     self->stream_->written();
                     self->pump_stream();
                   });
}

}  // namespace coffer::http
