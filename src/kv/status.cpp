// RocksDB statuses as errors of ours, each with what a person can do about it.
#include "base/result.h"
#include "kv/impl.h"

namespace coffer::kv {
namespace {

// Errors are one line, whatever RocksDB puts in.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

Error to_error(const rocksdb::Status& status, std::string_view what) {
  const std::string text = one_line(status.ToString());
  const auto make = [&](Code code, std::string_view next) {
    return make_error(code, fmt::format("{}: {}; {}", what, text, next));
  };
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit)
    return make(Code::kUnavailable, "the disk is full: free some space and start again");
  if (status.IsCorruption())
    return make(Code::kCorrupt,
                "the data is damaged: restore a backup, or move the directory away and sync again");
  if (status.IsPathNotFound() || text.find("No such file") != std::string::npos)
    return make(Code::kCorrupt,
                "a file is missing: restore a backup, or move the directory away and sync again");
  if (status.IsBusy() || status.IsTimedOut() || status.IsTryAgain() || status.IsIncomplete() ||
      status.IsAborted() || status.IsShutdownInProgress())
    return make(Code::kUnavailable, "try again");
  if (status.IsIOError()) {
    if (text.find("Permission denied") != std::string::npos)
      return make(Code::kUnavailable, "check the owner and mode of the directory and its files");
    if (text.find("Read-only file system") != std::string::npos)
      return make(Code::kUnavailable, "choose a writable place");
    if (text.find("Too many open files") != std::string::npos)
      return make(Code::kUnavailable, "raise the limit of open files (ulimit -n)");
    return make(Code::kUnavailable, "check the disk and the system log");
  }
  if (status.IsNotFound()) return make(Code::kNotFound, "there is nothing of that name");
  if (status.IsNotSupported() && text.find("read only") != std::string::npos)
    return make(Code::kConflict, "the database was opened for reading only");
  return make(Code::kInternal, "this is a bug");
}

}  // namespace coffer::kv
