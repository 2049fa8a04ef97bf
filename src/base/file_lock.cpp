#include "base/file_lock.h"
#include "base/result.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace coffer {

Result<FileLock> FileLock::take(const std::filesystem::path& path, LockRange range) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return fail(errno_error(errno, "cannot open " + path.string()));
  FileLock lock(file);
  // Of the open file, not of the process: so it also holds against this process's own libraries.
  struct flock wanted{};
  wanted.l_type = F_WRLCK;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = range.start;
  wanted.l_len = range.length;
  if (::fcntl(file, F_OFD_SETLK, &wanted) == 0) return lock;
  if (errno != EAGAIN && errno != EACCES)
    return fail(errno_error(errno, "cannot lock " + path.string()));
  const bool known =
      ::fcntl(file, F_OFD_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK && wanted.l_pid > 0;
  return fail(Code::kUnavailable, "{} is in use by {}; stop that first", path.string(),
              known ? fmt::format("process {}", wanted.l_pid) : "another process");
}

FileLock::FileLock(FileLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

FileLock::~FileLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace coffer
