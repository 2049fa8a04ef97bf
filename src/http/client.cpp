#include "http/client.h"

#include <atomic>

#include <boost/asio/connect.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/result.h"
#include "http/local_socket.h"
#include "http/transport.h"
#include "http/url.h"

namespace coffer::http {
namespace {

namespace beast_http = boost::beast::http;
using ResponseParser = beast_http::response_parser<beast_http::string_body>;

std::string request_bytes(Method method, const Url& url, std::string_view target,
                          const ClientOptions& options, bool keep_alive) {
  std::string out = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: {}\r\n", name(method),
                                target, url.authority, keep_alive ? "keep-alive" : "close");
  if (changes_state(method) || !options.body.empty())
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", options.body.size());
  for (const Field& header : options.headers)
    if ((header.name + header.value).find_first_of("\r\n") == std::string::npos)
      fmt::format_to(std::back_inserter(out), "{}: {}\r\n", header.name, header.value);
  return out + "\r\n" + options.body;
}

// What an exchange runs on, and how another thread ends it for good.
struct Loop {
  asio::io_context io{1};
  std::atomic<bool> cancelled{false};

  void cancel() {
    cancelled = true;  // before stop(): a step that missed the flag is stopped, see Exchange::wait
    io.stop();
  }
};

// Runs one asynchronous step after the other on the caller's thread, all within one deadline.
class Exchange {
 public:
  Exchange(Loop& loop, const Url& url, const ClientOptions& options)
      : loop_(loop),
        io_(loop.io),
        url_(url),
        options_(options),
        deadline_(std::chrono::steady_clock::now() + options.timeout) {}

  // For the next exchange on the same connection.
  void restart_deadline() { deadline_ = std::chrono::steady_clock::now() + options_.timeout; }

  Result<> connect() {
    if (!options_.local_socket.empty()) return connect_to_local();
    error_code error;
    tcp::resolver resolver(io_);
    auto found = resolver.resolve(url_.host, std::to_string(url_.port), error);
    if (error) return failed(error);
    TlsContext context;
    if (url_.tls) context = TRY(tls_context());
    transport_.emplace(StreamSocket(io_), std::move(context));
    std::vector<StreamSocket::endpoint_type> endpoints;
    for (const auto& one : found) endpoints.emplace_back(one.endpoint());
    error = wait([&](auto done) {
      asio::async_connect(transport_->socket(), endpoints,
                          [done](error_code e, const auto&) mutable { done(e, 0); });
    });
    if (error || !url_.tls) return error ? failed(error) : Result<>{};
    auto& tls = transport_->tls();
    ::SSL_set_tlsext_host_name(tls.native_handle(), url_.host.c_str());
    tls.set_verify_callback(asio::ssl::host_name_verification(url_.host), error);
    error = wait([&](auto done) {
      tls.async_handshake(asio::ssl::stream_base::client,
                          [done](error_code e) mutable { done(e, 0); });
    });
    return error ? failed(error) : Result<>{};
  }

  Result<> send(const std::string& bytes) {
    error_code error =
        wait([&](auto done) { transport_->write(asio::buffer(bytes), std::move(done)); });
    // A server that refuses early may close before it has read everything: its answer still counts.
    if (error == asio::error::broken_pipe || error == asio::error::connection_reset) return {};
    return error ? failed(error) : Result<>{};
  }

  Result<> receive(ResponseParser& parser) {
    boost::beast::flat_buffer buffer(256u << 10);
    for (;;) {
      std::size_t bytes = 0;
      error_code error = wait([&](auto done) {
        auto space =
            buffer.prepare(std::min<std::size_t>(64u << 10, buffer.max_size() - buffer.size()));
        transport_->read_some(space, [done, &bytes](error_code e, std::size_t n) mutable {
          bytes = n;
          done(e, n);
        });
      });
      buffer.commit(bytes);
      bool ended = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
      if (error && !ended) return failed(error);
      if (buffer.size() > 0) {
        std::size_t used = parser.put(buffer.data(), error);
        buffer.consume(used);
        if (error == beast_http::error::body_limit)
          return fail(Code::kTooLarge, "the answer of {} has more than {} bytes", url_.authority,
                      options_.max_body_bytes);
        if (error && error != beast_http::error::need_more) return garbled(error);
      }
      if (ended && !parser.is_done()) {
        if (!parser.got_some())
          return fail(Code::kUnavailable, "{} closed the connection", url_.authority);
        error = {};
        parser.put_eof(error);
        if (error) return garbled(error);
      }
      if (parser.is_done()) return {};
      if (buffer.size() == buffer.max_size()) return garbled(beast_http::error::header_limit);
    }
  }

  void close() {
    if (transport_) transport_->close();
    io_.restart();
    io_.run();
  }

 private:
  Result<> connect_to_local() {
    const int fd = TRY(connect_local(options_.local_socket));
    transport_.emplace(StreamSocket(io_, asio::generic::stream_protocol(AF_UNIX, 0), fd), nullptr);
    return {};
  }

  template <typename Start>
  error_code wait(Start start) {
    std::optional<error_code> result;
    start([&result](error_code error, std::size_t) { result = error; });
    io_.restart();
    if (!loop_.cancelled) io_.run_until(deadline_);
    if (result) return *result;
    transport_->close();
    while (!result) {  // the step still refers to it, and a late cancel() may stop the loop again
      io_.restart();
      io_.run();
    }
    return loop_.cancelled ? asio::error::operation_aborted : asio::error::timed_out;
  }

  Result<TlsContext> tls_context() {
    auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
    ::SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    context->set_verify_mode(asio::ssl::verify_peer);
    error_code error;
    if (options_.ca_file.empty())
      context->set_default_verify_paths(error);
    else
      context->load_verify_file(options_.ca_file.string(), error);
    if (error)
      return fail(Code::kNotFound, "cannot read the certificates in {}: {}",
                  options_.ca_file.string(), error.message());
    return context;
  }

  Result<> failed(error_code error) {
    if (loop_.cancelled) return fail(Code::kCancelled, "stopping");
    if (error == asio::error::timed_out)
      return fail(Code::kTimeout, "{} did not answer within {} ms", url_.authority,
                  options_.timeout.count());
    return fail(Code::kUnavailable, "cannot reach {}: {}", url_.authority, error.message());
  }
  Result<> garbled(error_code error) {
    return fail(Code::kCorrupt, "{} did not answer in HTTP: {}", url_.authority, error.message());
  }

  Loop& loop_;
  asio::io_context& io_;
  const Url& url_;
  const ClientOptions& options_;
  std::chrono::steady_clock::time_point deadline_;
  std::optional<Transport> transport_;
};

// Takes what the parser holds.
Response taken(ResponseParser& parser) {
  auto& message = parser.get();
  Response response;
  response.status = static_cast<int>(message.result_int());
  for (const auto& field : message)
    response.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  if (auto type = find_header(response.headers, "Content-Type")) response.content_type = *type;
  response.body = std::move(message.body());
  return response;
}

}  // namespace

Result<Response> request(Method method, std::string_view url_text, const ClientOptions& options) {
  Url url = TRY(parse_url(url_text));
  Loop loop;
  Exchange exchange(loop, url, options);
  TRY(exchange.connect());
  TRY(exchange.send(request_bytes(method, url, url.target, options, false)));
  ResponseParser parser;
  parser.eager(true);
  parser.body_limit(options.max_body_bytes);
  if (method == Method::kHead) parser.skip(true);
  TRY(exchange.receive(parser));
  exchange.close();
  return taken(parser);
}

struct ClientConnection::Impl {
  Url url;
  ClientOptions options;
  Loop loop;
  std::unique_ptr<Exchange> exchange;  // null while there is no connection

  Result<Response> ask(const std::string& bytes, bool& answered) {
    ResponseParser parser;
    parser.eager(true);
    parser.body_limit(options.max_body_bytes);
    exchange->restart_deadline();
    TRY(exchange->send(bytes));
    auto received = exchange->receive(parser);
    answered = parser.got_some();
    if (!received) return fail(std::move(received).error());
    if (!parser.keep_alive()) exchange.reset();
    return taken(parser);
  }

  Result<Response> exchange_bytes(const std::string& bytes) {
    for (;;) {
      if (loop.cancelled) return fail(Code::kCancelled, "stopping");
      const bool reused = exchange != nullptr;
      if (!reused) {
        exchange = std::make_unique<Exchange>(loop, url, options);
        if (auto connected = exchange->connect(); !connected) {
          exchange.reset();
          return fail(std::move(connected).error());
        }
      }
      bool answered = false;
      auto response = ask(bytes, answered);
      if (response) return response;
      exchange.reset();
      // Only a server that hung up between requests is asked again.
      if (!reused || answered || response.error().code != Code::kUnavailable) return response;
    }
  }
};

ClientConnection::ClientConnection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientConnection::ClientConnection(ClientConnection&&) noexcept = default;
ClientConnection& ClientConnection::operator=(ClientConnection&&) noexcept = default;
ClientConnection::~ClientConnection() = default;

Result<ClientConnection> ClientConnection::to(std::string_view url, ClientOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->url = TRY(parse_url(url));
  impl->options = std::move(options);
  return ClientConnection(std::move(impl));
}

void ClientConnection::set_headers(Fields headers) {
  impl_->options.headers = std::move(headers);
}

void ClientConnection::cancel() {
  impl_->loop.cancel();
}

Result<Response> ClientConnection::post(std::string body) {
  impl_->options.body = std::move(body);
  return impl_->exchange_bytes(
      request_bytes(Method::kPost, impl_->url, impl_->url.target, impl_->options, true));
}

Result<Response> ClientConnection::get(std::string_view target) {
  // Nothing but a plain target, so that it cannot end the request line.
  if (!target.starts_with('/') || !parse_target(target) ||
      std::any_of(target.begin(), target.end(), [](char c) { return c <= ' ' || c == 0x7f; }))
    return fail(Code::kInvalidInput, "not a target of a request");
  impl_->options.body.clear();
  return impl_->exchange_bytes(
      request_bytes(Method::kGet, impl_->url, target, impl_->options, true));
}

}  // namespace coffer::http
