#include "token/log/key.h"

#include <sys/stat.h>

#include "base/file.h"
#include "token/log/test_log_community.h"

namespace coffer::token {
namespace {

namespace fs = std::filesystem;

class LogKey : public test::LogTest {
 protected:
  fs::path dir() const { return dir_.path(); }
  fs::path file() const { return log_key_file(dir(), kName); }
};
COFFER_ON_EVERY_ENGINE(LogKey);

TEST_P(LogKey, IsMadeOnceForItsOwnerOnly) {
  const auto made = init_log_key(community(), dir());
  ASSERT_TRUE(made) << made.error().message;
  struct stat status;
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const auto again = init_log_key(community(), dir());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *made);
  const auto opened = open_log_key(community(), dir());
  ASSERT_TRUE(opened && *opened);
  EXPECT_EQ((*opened)->public_key(), *made);
  EXPECT_EQ(log().status()->public_key, *made);
}

TEST_P(LogKey, InitGoesOnAfterTheFileWasWritten) {
  const auto made = init_log_key(community(), dir());
  ASSERT_TRUE(made);
  run("DELETE FROM @settings");
  EXPECT_EQ(open_log_key(community(), dir()).error().code, Code::kConflict);
  const auto again = init_log_key(community(), dir());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *made);
}

TEST_P(LogKey, MissingFileIsNotReplaced) {
  ASSERT_TRUE(init_log_key(community(), dir()));
  fs::remove(file());
  const auto refused = init_log_key(community(), dir());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  sql::test::expect_one_line(refused.error());
  EXPECT_FALSE(fs::exists(file()));
  // serve goes on without.
  const auto opened = open_log_key(community(), dir());
  ASSERT_TRUE(opened);
  EXPECT_FALSE(*opened);
}

TEST_P(LogKey, OtherBrokenOrOpenFilesAreRefused) {
  ASSERT_TRUE(init_log_key(community(), dir()));
  const auto expect_refused = [&](Code code) {
    for (const auto& error :
         {open_log_key(community(), dir()).error(), init_log_key(community(), dir()).error()}) {
      EXPECT_EQ(error.code, code) << error.message;
      sql::test::expect_one_line(error);
    }
  };
  fs::permissions(file(), fs::perms::group_read, fs::perm_options::add);
  expect_refused(Code::kForbidden);
  const auto other = crypto::Ed25519Key::generate();
  ASSERT_TRUE(write_file_atomically(file(), as_bytes(to_hex(other.seed())), {.mode = 0600}));
  expect_refused(Code::kConflict);
  ASSERT_TRUE(write_file_atomically(file(), as_bytes("no key"), {.mode = 0600}));
  expect_refused(Code::kCorrupt);
}

}  // namespace
}  // namespace coffer::token
