// The audit log: one JSON line for each change, and for a few of the requests that were refused,
// written before its answer. When the file is full it becomes audit.log.1, and so on.
// Invariant: lines are whole and only ever added, also when several processes write; the number and
// size of the files is bounded; nothing in them is a secret.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coffer::api {

inline constexpr std::string_view kAuditFile = "audit.log";

struct AuditOptions {
  std::uint64_t max_bytes = 64u << 20;  // of a file; it is passed by less than a line
  std::uint64_t files = 8;              // audit.log and those before it, the oldest goes
};

struct AuditEntry {
  std::int64_t unix_ms = 0;
  std::string_view method;
  std::string_view route;  // the pattern
  std::string_view path;   // what was named; without the query
  int status = 0;
  std::string_view token;  // its name; empty if there was none that counts
  std::string_view remote;
  std::string_view change;  // a JSON object: what was asked for, as far as it may be written
};
// Without its end of line.
std::string audit_line(const AuditEntry& entry);

// Of the fields of a JSON body those that are named, as an object; long values are cut. Empty if
// there is none.
std::string audited_fields(std::string_view body, const std::vector<std::string>& names);

// Thread-safe, also beside other processes that write the same file.
class AuditLog {
 public:
  // Opens or makes the file, mode 0600. Errors: kUnavailable, kNotFound (no such directory).
  static Result<std::unique_ptr<AuditLog>> open(const std::filesystem::path& path,
                                                const AuditOptions& options = {});
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Returns once the line is on the disk. Cost: one write and one fdatasync, and now and then a
  // change of files. Errors: kUnavailable.
  Result<> append(const AuditEntry& entry) { return append_line(audit_line(entry)); }
  Result<> append_line(std::string line);

  // An error while the log cannot be written: then nothing may change state. After a failure this
  // tries again by writing a line that says so.
  Result<> ready();

  // Opens the path anew, for whoever renamed the file away.
  Result<> reopen();

 private:
  AuditLog(std::filesystem::path path, const AuditOptions& options)
      : path_(std::move(path)), options_(options) {}
  // All under mutex_.
  Result<> open_file();
  Result<> write_line(std::string line);
  Result<> write_locked(std::string_view line);
  Result<> take_turn();
  Result<> rotate();

  const std::filesystem::path path_;
  const AuditOptions options_;
  std::mutex mutex_;
  int fd_ = -1;
  bool failed_ = false;
};

}  // namespace coffer::api
