// How a connection reads requests, within the limits of server and route.
#include "base/result.h"
#include "http/admission.h"
#include "http/connection.h"

namespace coffer::http {
namespace {

namespace beast_http = boost::beast::http;

constexpr std::size_t kLingerBytes = 1u << 20;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

void Connection::next_request() {
  if (context_.stopping) return close();
  body_share_.reset();
  request_ = {};
  parser_.emplace();
  parser_->eager(false);  // a body is read only once it is known who sends it, and where
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  parser_->body_limit(boost::none);  // until then
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
  for (bool in_body = parser_->eager();; in_body = true) {
    error_code error;
    std::size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    if (error == beast_http::error::need_more) error = {};
    if (error) return refuse_malformed(error);
    if (!parser_->is_header_done()) return read_some();
    if (!in_body && !begin_body()) return;
    if (parser_->is_done()) return dispatch();
    if (in_body || buffer_.size() == 0) return continue_or_read();
  }
}

// The header is there, and nothing of the body was read. False if the request was refused.
bool Connection::begin_body() {
  parser_->eager(true);
  auto refused = take_header();
  if (!refused) refused = take_body_share();
  if (!refused) return true;
  refuse(std::move(*refused));
  return false;
}

// Takes the header over into request_; an answer if no handler may see it.
std::optional<Response> Connection::take_header() {
  auto& message = parser_->get();
  keep_alive_ = message.keep_alive() && ++requests_ < limits_.requests_per_connection &&
                place_.kind == ConnectionTable::Kind::kCommon;
  route_ = nullptr;
  request_ = {};
  request_.remote = peer_.name;
  request_.peer_group = peer_.group;
  request_.is_loopback = peer_.is_loopback;
  // Trailers come after a body, so that none becomes a header.
  for (const auto& field : message)
    request_.headers.push_back(
        {std::string(to_view(field.name_string())), std::string(to_view(field.value()))});
  if (auto refused = check_framing(message.version(), request_.headers)) {
    keep_alive_ = false;  // nobody knows where the next request would begin
    return refused;
  }
  RequestLine line{to_view(message.method_string()), to_view(message.target()), message.version()};
  Admission admission = admit(line, context_.hosts, context_.router, request_);
  if (admission.refused) return std::move(admission.refused);
  route_ = admission.route;
  if (place_.kind == ConnectionTable::Kind::kReserved && !route_->options.on_io_thread)
    return problem(503, "unavailable", "too many connections; try again soon", request_.path);
  if (context_.options.authorize) return context_.options.authorize(request_, route_->info);
  return std::nullopt;
}

// An answer if the body is too large for its route, or for all that are in flight.
std::optional<Response> Connection::take_body_share() {
  if (parser_->is_done()) return std::nullopt;  // there is none
  const std::size_t own = route_->options.body_bytes;
  const std::size_t allowed = own != 0 ? own : limits_.body_bytes;
  parser_->body_limit(allowed);
  const auto length = parser_->content_length();
  if (length && *length > allowed)
    return problem(413, "too_large", fmt::format("the body has more than {} bytes", allowed),
                   request_.path);
  body_share_ = context_.bodies->take(length ? static_cast<std::size_t>(*length) : allowed);
  if (body_share_) return std::nullopt;
  return problem(503, "unavailable", "too many large requests at once; try again soon",
                 request_.path);
}

// Whoever is refused may send a body all the same: its bytes are no request.
void Connection::refuse(Response response) {
  received_ = now();
  response_ = std::move(response);
  keep_alive_ = keep_alive_ && parser_->is_done() && response_.status != 400;
  report(route_ != nullptr ? &route_->info : nullptr, response_, false);
  write_response();
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
        problem(413, "too_large",
                fmt::format("the body has more than {} bytes", route_->options.body_bytes != 0
                                                                   ? route_->options.body_bytes
                                                                   : limits_.body_bytes)));
  if (error == beast_http::error::bad_version)
    return answer_now(problem(505, "http_version", "only HTTP/1.0 and HTTP/1.1 are spoken here"));
  answer_now(problem(400, "invalid_input", "malformed request: " + error.message()));
}

}  // namespace coffer::http
