// A Unix socket in a directory, for programs on this machine: unlike a port, nobody else can take
// its place, and each side asks the kernel who the other is.
// Invariant: paths of any length work, though the address of a socket has 108 bytes: the directory
// is opened, and the socket named by /proc/self/fd.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace coffer::http {

// Listens with mode 0600, and does not block. A socket that is there already, from a process that
// was killed, is replaced: call it only under a lock that keeps a second server of the directory
// out. The caller closes it and removes the file. Errors: kNotFound (directory), kUnavailable,
// kConflict if a file that is no socket is in the way.
Result<int> listen_local(const std::filesystem::path& path);

// Connects, without blocking, to who listens there: this user, the owner of the directory or root.
// The caller closes it. Errors: kNotFound if nobody listens; kForbidden if somebody else does;
// kUnavailable.
Result<int> connect_local(const std::filesystem::path& path);

// Whether the process at the other end is this user's or root's. Thread-safe.
bool is_peer_trusted(int fd);

}  // namespace coffer::http
