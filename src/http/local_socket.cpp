#include "http/local_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace coffer::http {
namespace {

constexpr int kBacklog = 64;

// Closes on every way out but release().
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

int open_directory(const std::filesystem::path& path) {
  const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
  return ::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

Result<sockaddr_un> address_in(int directory, const std::filesystem::path& path) {
  const std::string name = fmt::format("/proc/self/fd/{}/{}", directory, path.filename().string());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path)
    return fail(Code::kUsage, "{} is too long a name for a socket", path.filename().string());
  name.copy(address.sun_path, name.size());
  return address;
}

std::optional<uid_t> peer_of(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

}  // namespace

Result<int> listen_local(const std::filesystem::path& path) {
  const auto failed = [&](int error_number) {
    return fail(errno_error(error_number, "cannot listen on " + path.string()));
  };
  const Descriptor directory(open_directory(path));
  if (directory.get() < 0) return failed(errno);
  const sockaddr_un address = TRY(address_in(directory.get(), path));
  struct stat there;
  if (::lstat(address.sun_path, &there) == 0) {
    if (!S_ISSOCK(there.st_mode))
      return fail(Code::kConflict, "{} is no socket; move it away", path.string());
    if (::unlink(address.sun_path) != 0) return failed(errno);
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return failed(errno);
  // Before bind(), which gives the file this mode: at no moment may others connect.
  if (::fchmod(socket.get(), 0600) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    return failed(errno);
  return socket.release();
}

Result<int> connect_local(const std::filesystem::path& path) {
  const auto failed = [&](int error_number) {
    return fail(errno_error(error_number, "cannot connect to " + path.string()));
  };
  const auto nobody = [&] { return fail(Code::kNotFound, "nobody listens on {}", path.string()); };
  const Descriptor directory(open_directory(path));
  if (directory.get() < 0) return errno == ENOENT || errno == ENOTDIR ? nobody() : failed(errno);
  const sockaddr_un address = TRY(address_in(directory.get(), path));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return failed(errno);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return nobody();
    if (errno == EAGAIN)  // its queue is full
      return fail(Code::kUnavailable, "{}: the process behind it takes no connections; see its log",
                  path.string());
    return failed(errno);
  }
  struct stat owner;
  if (::fstat(directory.get(), &owner) != 0) return failed(errno);
  const auto peer = peer_of(socket.get());
  // The owner of the directory can read all that is in it, so that nothing is given away.
  if (!is_peer_trusted(socket.get()) && peer != owner.st_uid)
    return fail(Code::kForbidden,
                "{} belongs to a process of user {}, not of yours; nothing was sent to it",
                path.string(), peer ? fmt::format("{}", *peer) : "unknown");
  return socket.release();
}

bool is_peer_trusted(int fd) {
  const auto peer = peer_of(fd);
  return peer && (*peer == ::geteuid() || *peer == 0);
}

}  // namespace coffer::http
