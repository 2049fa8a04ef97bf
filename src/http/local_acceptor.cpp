#include "http/local_acceptor.h"

#include <boost/asio/steady_timer.hpp>

#include <coffer/base/log.h>
#include "http/local_socket.h"

namespace coffer::http {
namespace {

constexpr std::chrono::milliseconds kPause{250};  // after a failure to accept

}  // namespace

Result<> LocalAcceptor::open(const std::filesystem::path& path) {
  const int fd = TRY(listen_local(path));
  path_ = path;
  acceptor_.assign(asio::local::stream_protocol(), fd);
  accept();
  return {};
}

void LocalAcceptor::accept() {
  acceptor_.async_accept([this](error_code error, asio::local::stream_protocol::socket socket) {
    if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
    on_accept(error, std::move(socket));
  });
}

void LocalAcceptor::on_accept(error_code error, asio::local::stream_protocol::socket socket) {
  if (error) {
    log::warn("cannot accept a connection", {{"problem", error.message()}});
    auto pause = std::make_shared<asio::steady_timer>(context_.io, kPause);
    pause->async_wait([this, pause](error_code stopped) {
      if (!stopped && acceptor_.is_open()) accept();
    });
    return;
  }
  accept();
  if (!is_peer_trusted(socket.native_handle())) return;
  const Peer peer{.name = "local", .group = "local", .is_loopback = true, .is_local = true};
  context_.connections.take(
      std::make_shared<Connection>(context_, peer, std::move(socket), nullptr));
}

void LocalAcceptor::close() {
  if (!acceptor_.is_open()) return;
  error_code ignored;
  acceptor_.close(ignored);
  std::error_code not_there;
  std::filesystem::remove(path_, not_there);
}

}  // namespace coffer::http
