// A lock on a part of a file, against other processes and their libraries: RocksDB and SQLite lock
// their files in the same way.
// Invariant: held from take() until it goes, and then gone, also after a kill.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace coffer {

// Bytes of a file; they need not be there. Length 0 means up to the end, however far that moves.
struct LockRange {
  std::int64_t start = 0, length = 0;
};

// Not thread-safe.
class FileLock {
 public:
  // Does not wait and makes no file. Nobody may hold a lock on these bytes, not even a shared one.
  // Where this very process holds locks of the library's on the file, those are lost later: ask
  // only for what is not open here. Errors: kUnavailable naming the process that holds one, where
  // that is known; kNotFound; those of opening the file for writing.
  static Result<FileLock> take(const std::filesystem::path& path, LockRange range = {});
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int file) : file_(file) {}
  int file_;
};

}  // namespace coffer
