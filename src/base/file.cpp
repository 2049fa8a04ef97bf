#include "base/file.h"
#include "base/result.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace coffer {
namespace {

// Closes on every way out.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<> write_all(int fd, ByteView data, const std::string& name) {
  while (!data.empty()) {
    ssize_t wrote = ::write(fd, data.data(), data.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail(errno_error(errno, "cannot write " + name));
    data = data.subspan(static_cast<std::size_t>(wrote));
  }
  return {};
}

}  // namespace

Result<Bytes> read_open_file(int fd, const std::string& name, std::uint64_t max_bytes) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return fail(errno_error(errno, "cannot read " + name));
  if (S_ISDIR(status.st_mode)) return fail(errno_error(EISDIR, "cannot read " + name));
  if (static_cast<std::uint64_t>(status.st_size) > max_bytes)
    return fail(Code::kTooLarge, "{} has {} bytes; at most {} are read", name, status.st_size,
                max_bytes);
  Bytes data(static_cast<std::size_t>(status.st_size));
  std::size_t have = 0;
  for (;;) {
    if (have == data.size()) data.resize(data.size() + 4096);  // pipes and files that grow
    ssize_t got = ::read(fd, data.data() + have, data.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_error(errno, "cannot read " + name));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
    if (have > max_bytes)
      return fail(Code::kTooLarge, "{} has more than the {} bytes that are read", name, max_bytes);
  }
  data.resize(have);
  return data;
}

Result<int> open_regular_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  // Without O_NONBLOCK a pipe is opened only once somebody writes into it.
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return fail(errno_error(errno, "cannot open " + name));
  struct stat status;
  const int error_number = ::fstat(fd, &status) != 0 ? errno : 0;
  if (error_number == 0 && S_ISREG(status.st_mode)) return fd;
  ::close(fd);
  if (error_number != 0) return fail(errno_error(error_number, "cannot read " + name));
  return fail(Code::kInvalidInput, "{} is a {}, not a regular file; check the path", name,
              S_ISDIR(status.st_mode)    ? "directory"
              : S_ISFIFO(status.st_mode) ? "pipe"
                                         : "device");
}

Result<Bytes> read_at(int fd, std::uint64_t offset, std::uint64_t size) {
  Bytes data(size);
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got =
        ::pread(fd, data.data() + have, size - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_error(errno, "cannot read"));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  data.resize(have);
  return data;
}

Result<Bytes> read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const Descriptor file(TRY(open_regular_file(path)));
  return read_open_file(file.get(), path.string(), max_bytes);
}

Result<Bytes> read_file_or_pipe(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const std::string name = path.string();
  const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return fail(errno_error(errno, "cannot open " + name));
  return read_open_file(file.get(), name, max_bytes);
}

Result<Bytes> read_standard_input(std::uint64_t max_bytes) {
  return read_open_file(STDIN_FILENO, "standard input", max_bytes);
}

Result<bool> file_exists(const std::filesystem::path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return fail(errno_error(errno, "cannot look at " + path.string()));
}

namespace {

// The file that will be renamed, empty: what a killed process left of it is reused, but not what
// another one is writing.
Result<int> open_alone(const std::string& name, const std::string& temporary, unsigned mode) {
  constexpr int kTries = 100;  // each fails only because somebody else has just finished
  for (int i = 0; i < kTries; ++i) {
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    if (fd < 0) return fail(errno_error(errno, "cannot create " + name));
    struct flock whole{};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    const int error_number = ::fcntl(fd, F_OFD_SETLK, &whole) == 0 ? 0 : errno;
    struct stat opened, named;
    const bool is_still_named = ::fstat(fd, &opened) == 0 &&
                                ::stat(temporary.c_str(), &named) == 0 &&
                                opened.st_ino == named.st_ino;
    if (error_number == 0 && is_still_named) {
      (void)!::ftruncate(fd, 0);  // of a pipe there is nothing to cut
      return fd;
    }
    ::close(fd);
    if (error_number == EAGAIN || error_number == EACCES) break;
    if (error_number != 0) return fail(errno_error(error_number, "cannot lock " + temporary));
  }
  return fail(Code::kConflict, "another process is writing {}; try again", name);
}

}  // namespace

Result<> write_file_atomically(const std::filesystem::path& path, ByteView data,
                               WriteOptions options) {
  std::string name = path.string();
  struct stat status;
  if (::stat(name.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    Descriptor device(::open(name.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.get() < 0) return fail(errno_error(errno, "cannot write " + name));
    return write_all(device.get(), data, name);
  }
  std::error_code no_link;
  if (std::filesystem::is_symlink(path, no_link)) {
    const auto target = std::filesystem::canonical(path, no_link);
    if (!no_link) name = target.string();
  }
  const std::string temporary = name + ".tmp";
  const Descriptor file(TRY(open_alone(name, temporary, options.mode)));  // until it is renamed
  ::fchmod(file.get(), options.mode);
  auto wrote = write_all(file.get(), data, name);
  if (wrote && options.sync && ::fsync(file.get()) != 0)
    wrote = fail(errno_error(errno, "cannot write " + name));
  if (wrote && ::rename(temporary.c_str(), name.c_str()) != 0)
    wrote = fail(errno_error(errno, "cannot create " + name));
  if (!wrote) {
    ::unlink(temporary.c_str());
    return wrote;
  }
  if (options.sync) {
    std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
    Descriptor directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() >= 0) ::fsync(directory.get());
  }
  return {};
}

Result<> sync_to_disk(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return fail(errno_error(errno, "cannot open " + path.string()));
  if (::fsync(file.get()) != 0) return fail(errno_error(errno, "cannot write " + path.string()));
  return {};
}

Result<> make_directory(const std::filesystem::path& path, unsigned mode) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return {};
  if (std::filesystem::exists(path, error))
    return fail(Code::kUsage, "{} is not a directory; choose another place", path.string());
  if (path.has_parent_path() && path.parent_path() != path)
    if (auto made = make_directory(path.parent_path(), 0755); !made) return made;
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST)
    return fail(errno_error(errno, "cannot create directory " + path.string()));
  return {};
}

namespace {

Result<> taken_or_failed(int error_number, const char* what, const std::filesystem::path& path) {
  if (error_number == EEXIST)
    return fail(Code::kConflict, "{} exists already; choose another name", path.string());
  return fail(errno_error(error_number, fmt::format("cannot create {} {}", what, path.string())));
}

}  // namespace

Result<> make_new_directory(const std::filesystem::path& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0) return {};
  return taken_or_failed(errno, "directory", path);
}

Result<> make_new_file(const std::filesystem::path& path, unsigned mode) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() >= 0) return {};
  return taken_or_failed(errno, "file", path);
}

}  // namespace coffer
