// The Unix socket of a server: its connections are like any other, but of programs on this machine
// that run as this user or root. Internal to http.
#pragma once

#include <filesystem>

#include <boost/asio/local/stream_protocol.hpp>

#include "base/result.h"
#include "http/connection.h"

namespace coffer::http {

// Used on the I/O thread, but for open().
class LocalAcceptor {
 public:
  explicit LocalAcceptor(Context& context) : context_(context), acceptor_(context.io) {}
  ~LocalAcceptor() { close(); }
  LocalAcceptor(const LocalAcceptor&) = delete;
  LocalAcceptor& operator=(const LocalAcceptor&) = delete;

  // Before the I/O thread runs. Errors: those of listen_local.
  Result<> open(const std::filesystem::path& path);
  // Takes no more connections and removes the file; idempotent.
  void close();

 private:
  void accept();
  void on_accept(error_code error, asio::local::stream_protocol::socket socket);

  Context& context_;
  std::filesystem::path path_;
  asio::local::stream_protocol::acceptor acceptor_;
};

}  // namespace coffer::http
