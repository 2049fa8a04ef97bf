// How a connection reads requests, within the limits of server and route.
#include "http/connection.h"
#include "http/url.h"

namespace coffer::http {
namespace {

namespace beast_http = boost::beast::http;

constexpr std::size_t kLingerBytes = 1u << 20;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

void Connection::next_request() {
  if (context_.stopping) return close();
  release_large();
  const std::size_t largest = std::max(limits_.body_bytes, context_.router.largest_body_bytes());
  parser_.emplace();
  // A body above the common limit is read only once its route is known.
  parser_->eager(largest == limits_.body_bytes);
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  parser_->body_limit(largest);
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
  for (;;) {
    error_code error;
    std::size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    if (error == beast_http::error::need_more) error = {};
    if (error) return refuse_malformed(error);
    if (!parser_->is_header_done() || parser_->eager()) break;
    if (!begin_body()) return;
    if (parser_->is_done() || buffer_.size() == 0) break;
  }
  if (parser_->is_done()) return dispatch();
  continue_or_read();
}

// What the route of the request allows; needs its first line.
std::size_t Connection::allowed_body() const {
  const auto& message = parser_->get();
  const auto target = parse_target(to_view(message.target()));
  if (!target) return limits_.body_bytes;
  const auto method = parse_method(to_view(message.method_string()));
  const Router::Route* route = context_.router.match(method, target->path).route;
  const bool has_own = route != nullptr && route->limits.body_bytes != 0;
  return has_own ? route->limits.body_bytes : limits_.body_bytes;
}

// The headers are there. False if the body is refused.
bool Connection::begin_body() {
  parser_->eager(true);
  const auto length = parser_->content_length();
  if (!parser_->chunked() && (!length || *length <= limits_.body_bytes)) return true;
  const std::size_t allowed = allowed_body();
  parser_->body_limit(allowed);
  if (length && *length > allowed) {
    refuse_malformed(beast_http::error::body_limit);
    return false;
  }
  if (allowed <= limits_.body_bytes) return true;
  if (context_.large_requests >= limits_.large_requests) {
    answer_now(problem(503, "unavailable", "too many large requests at once; try again soon"));
    return false;
  }
  ++context_.large_requests;
  is_large_ = true;
  return true;
}

void Connection::release_large() {
  if (is_large_) --context_.large_requests;
  is_large_ = false;
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
    return answer_now(
        problem(413, "too_large", fmt::format("the body has more than {} bytes", allowed_body())));
  if (error == beast_http::error::bad_version)
    return answer_now(problem(505, "http_version", "only HTTP/1.0 and HTTP/1.1 are spoken here"));
  answer_now(problem(400, "invalid_input", "malformed request: " + error.message()));
}

}  // namespace coffer::http
