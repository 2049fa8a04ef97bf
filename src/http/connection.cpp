#include "http/connection.h"

#include <array>
#include <exception>

#include <boost/asio/post.hpp>

#include <coffer/base/log.h>
#include "base/result.h"
#include "http/admission.h"
#include "http/wire.h"

namespace coffer::http {
namespace {

namespace beast_http = boost::beast::http;
using std::chrono::milliseconds;

constexpr std::size_t kReadBytes = 16u << 10;
constexpr std::size_t kLingerBytes = 1u << 20;
constexpr milliseconds kLingerTime{1000};
constexpr milliseconds kLingerTimeWhenStopping{200};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kKeepAlive = ": keep-alive\n\n";

SteadyTime now() {
  return std::chrono::steady_clock::now();
}

std::string_view to_view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

Connection::Connection(Context& context, tcp::socket socket, TlsContext tls)
    : context_(context),
      limits_(context.options.limits),
      transport_(std::move(socket), std::move(tls)),
      buffer_(limits_.header_bytes + kReadBytes) {
  error_code error;
  auto endpoint = transport_.socket().remote_endpoint(error);
  if (error) return;
  auto address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  is_loopback_ = address.is_loopback();
  remote_ = fmt::format(fmt::runtime(address.is_v6() ? "[{}]:{}" : "{}:{}"), address.to_string(),
                        endpoint.port());
}

void Connection::set_state(State state, milliseconds time) {
  state_ = state;
  deadline_ = now() + time;
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
  if (stream_) stream_->end();
  context_.connections.erase(self);
  context_.on_closed();
}

void Connection::tick(SteadyTime time) {
  if (state_ == State::kStreaming && !stream_writing_) {
    if (time - stream_last_write_ >= limits_.stream_keep_alive) stream_->send(kKeepAlive);
    return;
  }
  if (state_ == State::kHandling || time < deadline_) return;
  if (state_ != State::kReading) return close();
  error_code ignored;
  transport_.socket().cancel(ignored);
  answer_now(problem(408, "request_timeout", "the request took too long to arrive"));
}

void Connection::begin_stop() {
  if (state_ == State::kIdle || state_ == State::kHandshake) return close();
  if (state_ == State::kStreaming) stream_->close();
}

// ---- reading

void Connection::next_request() {
  if (context_.stopping) return close();
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  parser_->body_limit(limits_.body_bytes);
  continued_ = false;
  if (buffer_.size() == 0) {
    set_state(State::kIdle, limits_.idle_time);
    return read_some();
  }
  set_state(State::kReading, limits_.request_time);  // the client sent ahead
  parse();
}

void Connection::read_some() {
  std::size_t room = buffer_.max_size() - buffer_.size();
  if (room == 0) return refuse_malformed(beast_http::error::header_limit);
  auto space = buffer_.prepare(std::min(room, kReadBytes));
  transport_.read_some(space, [self = shared_from_this()](error_code error, std::size_t bytes) {
    self->on_read(error, bytes);
  });
}

void Connection::on_read(error_code error, std::size_t bytes) {
  switch (state_) {
    case State::kIdle: set_state(State::kReading, limits_.request_time); [[fallthrough]];
    case State::kReading:
      if (error) return close();
      buffer_.commit(bytes);
      return parse();
    case State::kStreaming:  // nothing is expected from the client but that it goes away
      return error ? close() : read_some();
    case State::kLingering:
      lingered_bytes_ += bytes;
      return error || lingered_bytes_ > kLingerBytes ? close() : read_some();
    default: return;  // cancelled
  }
}

void Connection::parse() {
  error_code error;
  std::size_t used = parser_->put(buffer_.data(), error);
  buffer_.consume(used);
  if (error == beast_http::error::need_more) error = {};
  if (error) return refuse_malformed(error);
  if (parser_->is_done()) return dispatch();
  continue_or_read();
}

void Connection::continue_or_read() {
  if (continued_ || !parser_->is_header_done()) return read_some();
  continued_ = true;
  auto expect = parser_->get()[beast_http::field::expect];
  if (!equal_ignoring_case(to_view(expect), "100-continue")) return read_some();
  transport_.write(asio::buffer(kContinue),
                   [self = shared_from_this()](error_code error, std::size_t) {
                     if (self->state_ != State::kReading) return;
                     if (error) return self->close();
                     self->read_some();
                   });
}

void Connection::refuse_malformed(error_code error) {
  if (error == beast_http::error::header_limit)
    return answer_now(problem(431, "header_too_large",
                              fmt::format("the headers have more than {} "
                                          "bytes",
                                          limits_.header_bytes)));
  if (error == beast_http::error::body_limit)
    return answer_now(problem(413, "too_large",
                              fmt::format("the body has more than {} bytes", limits_.body_bytes)));
  if (error == beast_http::error::bad_version)
    return answer_now(problem(505, "http_version", "only HTTP/1.0 and HTTP/1.1 are spoken here"));
  answer_now(problem(400, "invalid_input", "malformed request: " + error.message()));
}

// ---- handling

// Takes the message over into request_; an answer if no handler may see it.
std::optional<Response> Connection::take_request() {
  auto& message = parser_->get();
  keep_alive_ = message.keep_alive() && ++requests_ < limits_.requests_per_connection;
  request_ = {};
  request_.remote = remote_;
  request_.is_loopback = is_loopback_;
  request_.body = std::move(message.body());
  for (const auto& field : message)
    request_.headers.push_back(
        {std::string(to_view(field.name_string())), std::string(to_view(field.value()))});
  RequestLine line{to_view(message.method_string()), to_view(message.target()), message.version()};
  Admission admission = admit(line, context_.hosts, context_.router, request_);
  route_ = admission.route;
  return std::move(admission.refused);
}

void Connection::dispatch() {
  received_ = now();
  if (auto refused = take_request()) {
    response_ = std::move(*refused);
    report(nullptr, response_);
    keep_alive_ = keep_alive_ && response_.status != 400;
    return write_response();
  }
  state_ = State::kHandling;
  opens_stream_ = false;
  if (route_->stream && request_.method == Method::kGet) {
    stream_ = std::make_shared<StreamBuffer>(limits_.stream_buffer_bytes,
                                             [weak = weak_from_this(), &io = context_.io] {
                                               asio::post(io, [weak] {
                                                 if (auto self = weak.lock()) self->pump_stream();
                                               });
                                             });
  }
  if (context_.pool.try_submit([self = shared_from_this()] { self->handle(); })) return;
  response_ = problem(503, "unavailable", "too many requests are waiting; try again soon");
  report(nullptr, response_);  // on this thread nothing may be written to a file
  write_response();
}

// On a worker.
void Connection::handle() {
  try {
    response_ = run_handler();
  } catch (const std::exception& error) {
    log::error("handler failed", {{"route", route_->info.pattern}, {"problem", error.what()}});
    opens_stream_ = false;
    response_ = problem(500, "internal", "an unexpected error; the log has more", request_.path);
  }
  report(&route_->info, response_);
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
  if (request_.method == Method::kHead) return head;
  opens_stream_ = true;
  if (auto refused = route_->stream(request_, stream_)) {
    opens_stream_ = false;
    return std::move(*refused);
  }
  return head;
}

void Connection::report(const RouteInfo* route, const Response& response) {
  if (!context_.options.after) return;
  Finished finished;
  finished.status = response.status;
  finished.bytes = response.content().size();
  finished.duration = std::chrono::duration_cast<std::chrono::microseconds>(now() - received_);
  context_.options.after(request_, route, finished);
}

// ---- answering

// For a request that did not become whole: what follows on the connection cannot be trusted.
void Connection::answer_now(Response response) {
  received_ = now();
  request_ = {};
  request_.remote = remote_;
  response_ = std::move(response);
  keep_alive_ = false;
  report(nullptr, response_);
  write_response();
}

void Connection::write_response() {
  if (stream_) {  // refused: it never began
    stream_->end();
    stream_.reset();
  }
  keep_alive_ = keep_alive_ && !context_.stopping;
  set_state(State::kWriting, limits_.write_time);
  head_ = response_head(response_, {.keep_alive = keep_alive_, .date = context_.date});
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
  head_ = response_head(response_, {.with_length = false, .date = context_.date});
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
      log::info("slow stream dropped", {{"remote", remote_}, {"route", route_->info.pattern}});
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
