// The audit log: one JSON line for each request that may change state, written before its answer.
// Invariant: lines are whole and only ever added; nothing in them is a secret.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace coffer::api {

struct AuditEntry {
  std::int64_t unix_ms = 0;
  std::string_view method;
  std::string_view route;  // the pattern
  std::string_view path;   // what was named; without the query
  int status = 0;
  std::string_view token;  // its name; empty if there was none that counts
  std::string_view remote;
};

// Thread-safe.
class AuditLog {
 public:
  // Opens or makes the file, mode 0600. Errors: kUnavailable, kNotFound (no such directory).
  static Result<std::unique_ptr<AuditLog>> open(const std::filesystem::path& path);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Returns once the line is on the disk. Cost: one write and one fdatasync. Errors: kUnavailable.
  Result<> append(const AuditEntry& entry);

  // An error while the log cannot be written: then nothing may change state. After a failure this
  // tries again by writing a line that says so.
  Result<> ready();

  // Opens the path anew, for whoever renamed the file away.
  Result<> reopen();

 private:
  explicit AuditLog(std::filesystem::path path) : path_(std::move(path)) {}
  Result<> write_line(std::string line);  // under mutex_

  const std::filesystem::path path_;
  std::mutex mutex_;
  int fd_ = -1;
  bool failed_ = false;
};

}  // namespace coffer::api
