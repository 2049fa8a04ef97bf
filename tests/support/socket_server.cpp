#include "support/socket_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include <coffer/base/clock.h>
#include "base/check.h"

namespace coffer::test {
namespace {

constexpr int kForever = -1;
constexpr int kSendTimeoutMs = 60'000;
constexpr std::size_t kReadBytes = 64 << 10;

int make_event() {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(fd >= 0);
  return fd;
}

void signal_event(int fd) {
  const std::uint64_t one = 1;
  CHECK(::write(fd, &one, sizeof one) == sizeof one);
}

}  // namespace

Stream::Stream(int fd) : fd_(fd), wake_fd_(make_event()) {}

Stream::~Stream() {
  ::close(fd_);
  ::close(wake_fd_);
}

void Stream::wake() {
  signal_event(wake_fd_);
}

void Stream::shut_down() {
  closed_ = true;
  ::shutdown(fd_, SHUT_RDWR);
  wake();
}

Stream::Event Stream::wait(short events, int timeout_ms) {
  const std::int64_t deadline_ms = system_clock().steady_ms() + timeout_ms;
  for (;;) {
    if (closed_) return Event::kClosed;
    pollfd polled[] = {{fd_, static_cast<short>(events | POLLRDHUP), 0}, {wake_fd_, POLLIN, 0}};
    const std::int64_t left_ms = deadline_ms - system_clock().steady_ms();
    if (timeout_ms != kForever && left_ms <= 0) return Event::kTimeout;
    ::poll(polled, 2, timeout_ms == kForever ? -1 : static_cast<int>(left_ms));
    if (closed_) return Event::kClosed;
    std::uint64_t count;
    if (polled[1].revents != 0 && ::read(wake_fd_, &count, sizeof count) > 0) return Event::kWoken;
    if ((polled[0].revents & events) != 0) return Event::kReady;
    if (polled[0].revents != 0) return Event::kClosed;
  }
}

bool Stream::read_some(std::string& to) {
  char buffer[kReadBytes];
  for (;;) {
    const Event event = wait(POLLIN, kForever);
    if (event == Event::kClosed) return false;
    if (event != Event::kReady) continue;
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (got < 0) continue;
    to.append(buffer, static_cast<std::size_t>(got));
    return true;
  }
}

bool Stream::write_all(std::string_view data) {
  while (!data.empty()) {
    const ssize_t sent = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      data.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    const Event event = wait(POLLOUT, kSendTimeoutMs);
    if (event == Event::kClosed || event == Event::kTimeout) return false;
  }
  return true;
}

bool Stream::pause_ms(int time_ms) {
  const std::int64_t end_ms = system_clock().steady_ms() + time_ms;
  for (;;) {
    const std::int64_t left_ms = end_ms - system_clock().steady_ms();
    if (left_ms <= 0) return true;
    if (wait(0, static_cast<int>(left_ms)) == Event::kClosed) return false;
  }
}

bool Stream::wait_for_wake() {
  return wait(0, kForever) == Event::kWoken;
}

void Stream::wait_for_close() {
  while (wait(0, kForever) != Event::kClosed) continue;
}

SocketServer::SocketServer(Serve serve) : SocketServer({}, std::move(serve)) {}

SocketServer::SocketServer(std::string path, Serve serve)
    : serve_(std::move(serve)), path_(std::move(path)), stop_fd_(make_event()) {
  bind_socket();
  listen_and_accept();
}

SocketServer::~SocketServer() {
  stop();
  ::close(stop_fd_);
}

void SocketServer::bind_socket() {
  if (!path_.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    CHECK(path_.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    ::unlink(path_.c_str());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(listener_ >= 0);
    CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return;
  }
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  CHECK(listener_ >= 0);
  const int yes = 1;
  CHECK(::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  socklen_t size = sizeof address;
  CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
}

void SocketServer::listen_and_accept() {
  CHECK(::listen(listener_, 64) == 0);
  acceptor_ = std::thread([this] { accept_loop(); });
}

void SocketServer::accept_loop() {
  for (;;) {
    pollfd polled[] = {{listener_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
    ::poll(polled, 2, -1);
    if (polled[1].revents != 0) return;
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) continue;
    const int yes = 1;
    if (path_.empty()) ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ++accepted_;
    std::lock_guard lock(mutex_);
    for (auto it = connections_.begin(); it != connections_.end();) {
      if (it->done) it->thread.join();
      it = it->done ? connections_.erase(it) : std::next(it);
    }
    Connection& connection = connections_.emplace_back(fd);
    connection.thread = std::thread([this, &connection] {
      serve_(connection.stream);
      connection.stream.shut_down();
      connection.done = true;
    });
  }
}

void SocketServer::stop_accepting() {
  if (!acceptor_.joinable()) return;
  signal_event(stop_fd_);
  acceptor_.join();
  std::uint64_t count;
  CHECK(::read(stop_fd_, &count, sizeof count) == sizeof count);
  ::close(listener_);
  listener_ = -1;
}

void SocketServer::refuse_connections(bool refuse) {
  std::lock_guard lock(control_mutex_);
  if (refuse == !acceptor_.joinable()) return;
  if (!refuse) return listen_and_accept();
  stop_accepting();
  bind_socket();  // a bound socket that does not listen refuses, and keeps the address
  close_connections();
}

void SocketServer::close_connections() {
  std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) connection.stream.shut_down();
}

void SocketServer::wake_all() {
  std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) connection.stream.wake();
}

void SocketServer::stop() {
  std::lock_guard control(control_mutex_);
  stop_accepting();
  if (listener_ >= 0) ::close(listener_);
  listener_ = -1;
  close_connections();
  std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) connection.thread.join();
  connections_.clear();
}

}  // namespace coffer::test
