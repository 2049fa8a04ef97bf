// A file system of a given size, to be filled. Mounting one needs root.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/temp_dir.h"

namespace coffer::test {

class SmallDisk {
 public:
  explicit SmallDisk(unsigned megabytes)
      : mounted_(::geteuid() == 0 &&
                 ::system(("mount -t tmpfs -o size=" + std::to_string(megabytes) + "m tmpfs " +
                           path() + " 2>/dev/null")
                              .c_str()) == 0) {}
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) (void)!::system(("umount -l " + path()).c_str());
  }

  bool mounted() const { return mounted_; }
  std::string path() const { return dir_.path().string(); }
  // Takes so many bytes of it away; free() gives them back.
  bool fill(std::uint64_t bytes) {
    return ::system(("head -c " + std::to_string(bytes) + " /dev/zero > " + filler()).c_str()) == 0;
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
