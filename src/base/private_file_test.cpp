// Who may own and use a file of secrets.
#include "base/private_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temp_dir.h"

namespace coffer {
namespace {

TEST(PrivateFile, OthersMayNeitherReadNorChangeIt) {
  const TempDir dir;
  const auto path = dir.path() / "secret";
  ASSERT_TRUE(write_file_atomically(path, as_bytes("x"), {.mode = 0600}));
  for (const mode_t mode : {0600u, 0400u, 0700u}) {
    ::chmod(path.c_str(), mode);
    EXPECT_TRUE(read_private_file(path)) << std::oct << mode;
  }
  for (const mode_t mode : {0640u, 0620u, 0604u, 0602u, 0601u, 0610u, 0666u}) {
    ::chmod(path.c_str(), mode);
    const auto refused = read_private_file(path);
    ASSERT_FALSE(refused) << std::oct << mode;
    EXPECT_EQ(refused.error().code, Code::kForbidden);
    EXPECT_NE(refused.error().message.find("chmod 600 " + path.string()), std::string::npos);
  }
  EXPECT_EQ(read_private_file(dir.path() / "none").error().code, Code::kNotFound);
}

TEST(PrivateFile, GroupMayReadAKeyOfRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of root";
  const TempDir dir;
  const auto path = dir.path() / "key";
  ASSERT_TRUE(write_file_atomically(path, as_bytes("x"), {.mode = 0640}));
  EXPECT_TRUE(read_private_file(path, {.group_may_read_roots = true}));
  EXPECT_FALSE(read_private_file(path));
  for (const mode_t mode : {0660u, 0644u, 0650u}) {
    ::chmod(path.c_str(), mode);
    EXPECT_FALSE(read_private_file(path, {.group_may_read_roots = true})) << std::oct << mode;
  }
}

TEST(PrivateFile, AnotherUsersIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const TempDir dir;
  const auto path = dir.path() / "secret";
  ASSERT_TRUE(write_file_atomically(path, as_bytes("x"), {.mode = 0600}));
  ASSERT_EQ(::chown(path.c_str(), 12345, 0), 0);
  EXPECT_EQ(read_private_file(path).error().code, Code::kForbidden);
  const auto directory = dir.path() / "data";
  ASSERT_TRUE(make_directory(directory, 0700));
  EXPECT_TRUE(check_private_directory(directory));
  ASSERT_EQ(::chown(directory.c_str(), 12345, 0), 0);
  EXPECT_EQ(check_private_directory(directory).error().code, Code::kForbidden);
}

TEST(PrivateFile, DirectoryThatOthersCanWriteIsRefused) {
  const TempDir dir;
  const auto path = dir.path() / "data";
  ASSERT_TRUE(make_directory(path, 0755));
  EXPECT_TRUE(check_private_directory(path));
  for (const mode_t mode : {0775u, 0757u, 01777u}) {
    ::chmod(path.c_str(), mode);
    EXPECT_EQ(check_private_directory(path).error().code, Code::kForbidden) << std::oct << mode;
  }
}

}  // namespace
}  // namespace coffer
