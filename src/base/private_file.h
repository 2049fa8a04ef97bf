// Files that only their owner may use, judged as PostgreSQL judges its key and its data directory.
#pragma once

#include <filesystem>

#include <coffer/base/bytes.h>
#include "base/result.h"

namespace coffer {

struct PrivateFile {
  std::uint64_t max_bytes = 4096;
  bool group_may_read_roots = false;  // if it belongs to root
};

// Reads a token or a key. It must belong to this process's user or to root, and others may neither
// read nor change it. What is no regular file (the pipe of a shell's substitution) is read as it
// is. The permissions are those of the file that is read, whatever its name becomes meanwhile.
// Errors: kForbidden with the command that repairs it; those of read_file_or_pipe.
Result<Bytes> read_private_file(const std::filesystem::path& path, const PrivateFile& options = {});

// A directory of this process's user or of root, into which nobody else may write. Errors:
// kForbidden with the command that repairs it; kNotFound, kUnavailable.
Result<> check_private_directory(const std::filesystem::path& path);

}  // namespace coffer
