// Temporary files in memory, for tests that write much and lose nothing with the machine.
#pragma once

#include <stdlib.h>

#include <filesystem>

namespace coffer::test {

// From here on every TempDir of this program is in memory, where there is such a place and TMPDIR
// does not name another: the disk does not set the pace. Before the first TempDir and thread.
inline void keep_temp_files_in_memory() {
  std::error_code none;
  if (std::filesystem::is_directory("/dev/shm", none)) ::setenv("TMPDIR", "/dev/shm", 0);
}

}  // namespace coffer::test
