// A socket, with TLS over it or without. Internal to http: the only header here that knows Boost.
#pragma once

#include <memory>
#include <optional>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>

namespace coffer::http {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;
// TCP, or a Unix socket.
using StreamSocket = asio::generic::stream_protocol::socket;
using TlsContext = std::shared_ptr<asio::ssl::context>;

// Used from one thread. Handlers get (error_code) or (error_code, size_t).
class Transport {
 public:
  Transport(StreamSocket socket, TlsContext context)
      : socket_(std::move(socket)), context_(std::move(context)) {
    if (context_) tls_.emplace(socket_, *context_);
  }
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  StreamSocket& socket() { return socket_; }
  bool is_tls() const { return tls_.has_value(); }
  asio::ssl::stream<StreamSocket&>& tls() { return *tls_; }

  template <typename Handler>
  void read_some(asio::mutable_buffer buffer, Handler handler) {
    if (tls_)
      tls_->async_read_some(buffer, std::move(handler));
    else
      socket_.async_read_some(buffer, std::move(handler));
  }

  template <typename Buffers, typename Handler>
  void write(const Buffers& buffers, Handler handler) {
    if (tls_)
      asio::async_write(*tls_, buffers, std::move(handler));
    else
      asio::async_write(socket_, buffers, std::move(handler));
  }

  void close() {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  StreamSocket socket_;
  TlsContext context_;  // the stream needs it as long as it lives, also after a reload
  std::optional<asio::ssl::stream<StreamSocket&>> tls_;
};

}  // namespace coffer::http
