#include "api/audit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/file.h"
#include "base/printable.h"
#include "base/result.h"
#include "json/reader.h"
#include "json/writer.h"

namespace coffer::api {
namespace {

constexpr std::size_t kMaxValueBytes = 512;  // of one field of a change
constexpr int kMaxTurns = 2'000;             // a millisecond apart, while another process writes

std::filesystem::path numbered(const std::filesystem::path& path, std::uint64_t number) {
  return path.string() + "." + std::to_string(number);
}

bool is_same_file(int fd, const std::filesystem::path& path, struct stat& open) {
  struct stat named{};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace

std::string audit_line(const AuditEntry& entry) {
  json::Writer json;
  json.begin_object().field("time_unix_ms", entry.unix_ms).field("method", entry.method);
  json.field("route", entry.route).field("path", printable(entry.path));
  json.field("status", entry.status);
  json.field("token", entry.token).field("remote", entry.remote);
  if (!entry.change.empty()) json.key("change").raw(entry.change);
  json.end_object();
  return json.take();
}

std::string audited_fields(std::string_view body, const std::vector<std::string>& names) {
  if (names.empty() || body.empty()) return {};
  const auto document = json::parse(body);
  if (!document || !document->is_object()) return {};
  json::Writer json;
  json.begin_object();
  bool any = false;
  for (const std::string& name : names) {
    const auto value = document->find(name);
    if (!value) continue;
    any = true;
    const std::string text = value->serialize();
    if (text.size() <= kMaxValueBytes)
      json.key(name).raw(text);
    else
      json.field(name, printable(text.substr(0, kMaxValueBytes)) + "…");
  }
  json.end_object();
  return any ? json.take() : std::string();
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::filesystem::path& path,
                                                 const AuditOptions& options) {
  std::unique_ptr<AuditLog> audit(new AuditLog(path, options));
  TRY(audit->reopen());
  return audit;
}

AuditLog::~AuditLog() {
  if (fd_ >= 0) ::close(fd_);
}

Result<> AuditLog::reopen() {
  std::lock_guard lock(mutex_);
  return open_file();
}

Result<> AuditLog::open_file() {
  int fd = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fail(errno_error(errno, "cannot open " + path_.string()));
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
  return {};
}

Result<> AuditLog::append_line(std::string line) {
  std::lock_guard lock(mutex_);
  return write_line(std::move(line));
}

Result<> AuditLog::ready() {
  std::lock_guard lock(mutex_);
  if (!failed_) return {};
  return write_line(R"({"note":"lines before this one could not be written"})");
}

Result<> AuditLog::write_line(std::string line) {
  line += '\n';
  failed_ = true;
  TRY(take_turn());
  const auto written = write_locked(line);
  ::flock(fd_, LOCK_UN);
  TRY(written);
  if (::fdatasync(fd_) != 0) return fail(errno_error(errno, "cannot write " + path_.string()));
  failed_ = false;
  return {};
}

// Locks the file that has the path now, with room for a line. Whoever holds this lock is the only
// one who writes the file, takes a torn line back or renames it.
Result<> AuditLog::take_turn() {
  for (int turn = 0; turn < kMaxTurns; ++turn) {
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR)
        return fail(errno_error(errno, "cannot lock " + path_.string()));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    struct stat open{};
    if (is_same_file(fd_, path_, open)) {
      if (static_cast<std::uint64_t>(open.st_size) < options_.max_bytes) return {};
      TRY(rotate());
    }
    TRY(open_file());  // another one has the path now; closing the old one unlocks it
  }
  return fail(Code::kUnavailable, "cannot write {}: another process keeps it locked",
              path_.string());
}

// Each step leaves every line in a file that belongs to the log, so that a crash loses none.
Result<> AuditLog::rotate() {
  const auto move = [](const std::filesystem::path& from,
                       const std::filesystem::path& to) -> Result<> {
    if (::rename(from.c_str(), to.c_str()) == 0 || errno == ENOENT) return {};
    return fail(errno_error(errno, "cannot rename " + from.string()));
  };
  for (std::uint64_t number = options_.files - 1; number > 1; --number)
    TRY(move(numbered(path_, number - 1), numbered(path_, number)));
  for (std::uint64_t number = options_.files; ::unlink(numbered(path_, number).c_str()) == 0;)
    ++number;  // from when more were kept
  return move(path_, numbered(path_, 1));
}

Result<> AuditLog::write_locked(std::string_view line) {
  const ssize_t wrote = ::write(fd_, line.data(), line.size());
  if (wrote == static_cast<ssize_t>(line.size())) return {};
  int error = wrote < 0 ? errno : ENOSPC;
  if (wrote > 0) {
    // The disk is full: take the torn line back, so that lines stay whole.
    const off_t end = ::lseek(fd_, 0, SEEK_END);
    if (end >= wrote && ::ftruncate(fd_, end - wrote) != 0) error = errno;
  }
  return fail(errno_error(error, "cannot write " + path_.string()));
}

}  // namespace coffer::api
