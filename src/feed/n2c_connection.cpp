#include "feed/n2c_connection.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"
#include "base/result.h"

namespace coffer::feed::n2c {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;

// Whatever happens to the socket, the node may come back.
std::unexpected<Error> lost(int error_number, const std::string& what) {
  Error error = errno_error(error_number, what);
  return fail(Error{Code::kUnavailable, true, std::move(error.message)});
}

std::unexpected<Error> cancelled() {
  return fail(Code::kCancelled, "stopping");
}

}  // namespace

Connection::Connection(const Clock& clock) : clock_(clock) {
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CHECK(wake_fd_ >= 0);
}

Connection::~Connection() {
  close();
  ::close(wake_fd_);
}

void Connection::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Connection::interrupt() {
  interrupted_ = true;
  const std::uint64_t one = 1;
  // Only a full counter refuses it, and that wakes the waiter as well.
  [[maybe_unused]] const ssize_t wrote = ::write(wake_fd_, &one, sizeof one);
}

Result<> Connection::open(const std::filesystem::path& socket) {
  close();
  demultiplexer_ = {};
  if (interrupted_) return cancelled();
  const std::string path = socket.string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(Code::kUsage, "{} is longer than the {} bytes that a socket's path may have", path,
                sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return lost(errno, "cannot make a socket");
  // On a Unix socket this succeeds or fails at once.
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error_number = errno;
    close();
    return lost(error_number, "cannot connect to " + path);
  }
  return {};
}

Result<bool> Connection::wait_until(short events, std::int64_t deadline_ms) {
  for (;;) {
    if (interrupted_) return cancelled();
    pollfd polled[] = {{fd_, events, 0}, {wake_fd_, POLLIN, 0}};
    const std::int64_t left_ms = std::max<std::int64_t>(0, deadline_ms - clock_.steady_ms());
    const int ready = ::poll(polled, 2, static_cast<int>(left_ms));
    if (ready < 0 && errno != EINTR) return lost(errno, "cannot wait for the node");
    if (interrupted_) return cancelled();
    if (ready > 0 && polled[0].revents != 0) return true;
    if (ready == 0 && left_ms == 0) return false;
  }
}

Result<> Connection::send_all(ByteView data, int timeout_ms) {
  const std::int64_t deadline_ms = clock_.steady_ms() + timeout_ms;
  while (!data.empty()) {
    const ssize_t sent = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      data = data.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!TRY(wait_until(POLLOUT, deadline_ms)))
        return fail(Code::kUnavailable, "the node takes no more messages");
    } else if (errno != EINTR) {
      return lost(errno, "the connection to the node is lost");
    }
  }
  return {};
}

Result<> Connection::send(std::uint16_t protocol, ByteView message, int times, int timeout_ms) {
  if (!is_open()) return fail(Code::kUnavailable, "not connected to the node");
  Bytes segments;
  const auto now_us = static_cast<std::uint32_t>(clock_.steady_ms() * 1'000);
  for (int i = 0; i < times; ++i) append_segments(segments, protocol, now_us, message);
  Result<> sent = send_all(segments, timeout_ms);
  if (!sent) close();
  return sent;
}

Result<std::optional<Bytes>> Connection::try_receive(std::uint16_t protocol, int timeout_ms) {
  const std::int64_t deadline_ms = clock_.steady_ms() + timeout_ms;
  Bytes buffer(kReadBytes);
  for (;;) {
    if (interrupted_) return cancelled();
    if (auto message = TRY(demultiplexer_.next(protocol))) return message;
    const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      demultiplexer_.feed(ByteView(buffer).first(static_cast<std::size_t>(got)));
    } else if (got == 0) {
      return fail(Code::kUnavailable, "the node closed the connection");
    } else if (errno == EAGAIN) {
      if (!TRY(wait_until(POLLIN, deadline_ms))) return std::nullopt;
    } else if (errno != EINTR) {
      return lost(errno, "the connection to the node is lost");
    }
  }
}

Result<std::optional<Bytes>> Connection::receive(std::uint16_t protocol, int timeout_ms) {
  if (!is_open()) return fail(Code::kUnavailable, "not connected to the node");
  Result<std::optional<Bytes>> message = try_receive(protocol, timeout_ms);
  if (!message) close();
  return message;
}

}  // namespace coffer::feed::n2c
