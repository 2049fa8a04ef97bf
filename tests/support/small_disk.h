// A file system of a given size, to be filled. Mounting one needs root.
#pragma once

#include <unistd.h>

#include <string>

#include "base/temp_dir.h"
#include "support/shell.h"

namespace coffer::test {

class SmallDisk {
 public:
  explicit SmallDisk(unsigned megabytes)
      : mounted_(::geteuid() == 0 && shell("mount -t tmpfs -o size=" + std::to_string(megabytes) +
                                           "m tmpfs " + shell_word(path()) + " 2>/dev/null")) {}
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) (void)shell("umount -l " + shell_word(path()));
  }

  bool mounted() const { return mounted_; }
  std::string path() const { return dir_.path().string(); }
  // Takes so many bytes of it away; free() gives them back.
  bool fill(std::uint64_t bytes) {
    return shell("head -c " + std::to_string(bytes) + " /dev/zero > " + shell_word(filler()));
  }
  bool free() { return std::filesystem::remove(filler()); }

 private:
  std::string filler() const { return path() + "/filler"; }

  const TempDir dir_;
  const bool mounted_;
};

}  // namespace coffer::test

#define COFFER_REQUIRE_MOUNTED_OR_SKIP(disk) \
  if (!(disk).mounted()) GTEST_SKIP() << "mounting a small file system needs root"
