// Files and directories with errors as values. Not thread-safe on the same path.
#pragma once

#include <filesystem>
#include <string>

#include <coffer/base/bytes.h>

namespace coffer {

// Opens a regular file for reading; the caller closes it. A pipe, a device or a directory is
// refused at once, also a pipe that nobody writes into. Errors: kNotFound, kUnavailable,
// kInvalidInput.
Result<int> open_regular_file(const std::filesystem::path& path);

// The bytes of an open file from an offset on: fewer than `size` if it ends before. Thread-safe.
// Errors: kUnavailable.
Result<Bytes> read_at(int fd, std::uint64_t offset, std::uint64_t size);

// The whole of a regular file, refused above max_bytes. Errors: as open_regular_file; kTooLarge.
Result<Bytes> read_file(const std::filesystem::path& path, std::uint64_t max_bytes);

// The same for what a person may also give as a pipe or a terminal, e.g. <(command): it waits until
// the other side closes it. Errors: kNotFound, kUnavailable, kTooLarge.
Result<Bytes> read_file_or_pipe(const std::filesystem::path& path, std::uint64_t max_bytes);

// The rest of what is open, until it ends; `name` is for the errors. Errors: kUnavailable,
// kTooLarge.
Result<Bytes> read_open_file(int fd, const std::string& name, std::uint64_t max_bytes);

// All of standard input, until it ends. Errors: kUnavailable, kTooLarge.
Result<Bytes> read_standard_input(std::uint64_t max_bytes);

struct WriteOptions {
  unsigned mode = 0644;
  bool sync = true;  // the data and the name survive a power loss
};

// Replaces the file whole or not at all (temporary name, fsync, rename). A link's target is
// replaced, not the link; what is no regular file (a pipe, a device) is written to as it stands.
// Errors: kUnavailable (permission, full disk), kNotFound (no such directory), kConflict while
// another process writes it.
Result<> write_file_atomically(const std::filesystem::path& path, ByteView data,
                               WriteOptions options = {});

// What was written to the file, or the names in the directory, survive a power loss from now on.
// Errors: kNotFound, kUnavailable.
Result<> sync_to_disk(const std::filesystem::path& path);

// Makes the directory and its parents. Errors: kUnavailable, or kUsage if a file is in the way.
Result<> make_directory(const std::filesystem::path& path, unsigned mode = 0755);

// Makes a directory, or an empty file, that is not there yet: of several that do it at once one
// succeeds, so that who made it may remove it again. Errors: kConflict if there is such a name,
// kNotFound (no parent), kUnavailable.
Result<> make_new_directory(const std::filesystem::path& path, unsigned mode = 0755);
Result<> make_new_file(const std::filesystem::path& path, unsigned mode = 0644);

// Errors: kUnavailable when it cannot be told, e.g. without permission.
Result<bool> file_exists(const std::filesystem::path& path);

}  // namespace coffer
