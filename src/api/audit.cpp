#include "api/audit.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/result.h"
#include "json/writer.h"

namespace coffer::api {

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::filesystem::path& path) {
  std::unique_ptr<AuditLog> audit(new AuditLog(path));
  TRY(audit->reopen());
  return audit;
}

AuditLog::~AuditLog() {
  if (fd_ >= 0) ::close(fd_);
}

Result<> AuditLog::reopen() {
  int fd = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fail(errno_error(errno, "cannot open " + path_.string()));
  std::lock_guard lock(mutex_);
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
  return {};
}

Result<> AuditLog::append(const AuditEntry& entry) {
  json::Writer json;
  json.begin_object().field("time_unix_ms", entry.unix_ms).field("method", entry.method);
  json.field("route", entry.route).field("path", entry.path).field("status", entry.status);
  json.field("token", entry.token).field("remote", entry.remote).end_object();
  std::lock_guard lock(mutex_);
  return write_line(json.take());
}

Result<> AuditLog::ready() {
  std::lock_guard lock(mutex_);
  if (!failed_) return {};
  return write_line(R"({"note":"lines before this one could not be written"})");
}

Result<> AuditLog::write_line(std::string line) {
  line += '\n';
  ssize_t wrote = ::write(fd_, line.data(), line.size());
  int error = errno;
  if (wrote > 0 && static_cast<std::size_t>(wrote) < line.size()) {
    // The disk is full: take the torn line back, so that lines stay whole.
    off_t end = ::lseek(fd_, 0, SEEK_END);
    if (end >= wrote && ::ftruncate(fd_, end - wrote) != 0)
      error = errno;
    else
      error = ENOSPC;
    wrote = -1;
  }
  failed_ = wrote < 0 || ::fdatasync(fd_) != 0;
  if (failed_)
    return fail(errno_error(wrote < 0 ? error : errno, "cannot write " + path_.string()));
  return {};
}

}  // namespace coffer::api
