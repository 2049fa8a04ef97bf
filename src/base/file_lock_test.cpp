#include "base/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "base/result.h"
#include "base/temp_dir.h"

namespace coffer {
namespace {

class FileLockTest : public ::testing::Test {
 protected:
  FileLockTest() { std::ofstream(path_) << "some text"; }
  TempDir dir_;
  const std::filesystem::path path_ = dir_.path() / "file";
};

// Another process that holds a lock of the kind that libraries take, until it is killed.
class Holder {
 public:
  Holder(const std::filesystem::path& path, int type, off_t start, off_t length) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int file = ::open(path.c_str(), O_RDWR);
      struct flock wanted{};
      wanted.l_type = static_cast<short>(type);
      wanted.l_whence = SEEK_SET;
      wanted.l_start = start;
      wanted.l_len = length;
      const char done = ::fcntl(file, F_SETLK, &wanted) == 0 ? '1' : '0';
      if (::write(ready[1], &done, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char answer = '0';
    EXPECT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, '1');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Holder() { kill(); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST_F(FileLockTest, HeldUntilDestroyed) {
  std::optional<FileLock> lock = FileLock::take(path_).value();
  FileLock moved = *std::move(lock);
  lock.reset();  // NOLINT(bugprone-use-after-move): what it holds is moved, it is not
  const auto refused = FileLock::take(path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_NE(refused.error().message.find("in use by another process"), std::string::npos);
  {
    const FileLock gone = std::move(moved);
  }
  EXPECT_TRUE(FileLock::take(path_));
}

TEST_F(FileLockTest, NamesTheProcessThatHoldsAnyLock) {
  for (const int type : {F_RDLCK, F_WRLCK}) {
    Holder holder(path_, type, 1000, 1);
    const auto refused = FileLock::take(path_, {.start = 998, .length = 10});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(fmt::format("process {}", holder.pid())),
              std::string::npos)
        << refused.error().message;
    EXPECT_TRUE(FileLock::take(path_, {.start = 0, .length = 1000}));
    EXPECT_FALSE(FileLock::take(path_));
    holder.kill();
    EXPECT_TRUE(FileLock::take(path_));
  }
}

TEST_F(FileLockTest, CreatesNoFile) {
  const auto missing = FileLock::take(dir_.path() / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "none"));
}

}  // namespace
}  // namespace coffer
