#include "sql/restore.h"

#include <sys/file.h>

#include "sql/inspect.h"
#include "sql/test_restore.h"

namespace coffer::sql::test {
namespace {

TEST_F(RestoreTest, IntoEmptyDirectory) {
  make_backup({1, 2});
  std::int64_t last = 0, all = 0;
  const auto restored = restore("sqlite:" + target_.string(), backup_, {.expected = of_version(2)},
                                [&](const RestoreProgress& now) {
                                  EXPECT_GT(now.done_bytes, last);
                                  last = now.done_bytes, all = now.all_bytes;
                                });
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->kept, "");
  EXPECT_EQ(restored->status.pending, Names{"toy 2 second"});
  EXPECT_EQ(restored->size_bytes, static_cast<std::int64_t>(fs::file_size(backup_)));
  EXPECT_EQ(last, restored->size_bytes);
  EXPECT_EQ(all, restored->size_bytes);
  EXPECT_EQ(files(), Names{"a.db"});
  EXPECT_EQ(fs::status(target_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(sum(target_), 3);
  EXPECT_FALSE(fs::exists(backup_.string() + "-wal"));
}

TEST_F(RestoreTest, ReplacedDatabaseIsKept) {
  make_backup({1, 2});
  make(target_, {10});
  expect_refusal(Code::kConflict, "--replace", false);
  EXPECT_EQ(sum(target_), 10);
  EXPECT_EQ(restore_it(true).value().kept, target_.string() + ".replaced-1");
  EXPECT_EQ(sum(target_), 3);
  EXPECT_EQ(restore_it(true).value().kept, target_.string() + ".replaced-2");
  EXPECT_EQ(files(), (Names{"a.db", "a.db.replaced-1", "a.db.replaced-2"}));
  EXPECT_EQ(sum(target_.string() + ".replaced-1"), 10);
}

TEST_F(RestoreTest, WalOfKilledProcessIsKept) {
  make_backup({1});
  const fs::path live = dir_.path() / "live.db";
  {
    const auto database = open(live);
    ASSERT_TRUE(migrate(*database, of_version(1)));
    add(*database, 10);
    // As it stands on the disk now, with the last change in the log alone.
    for (const char* suffix : {"", "-wal", "-shm"})
      fs::copy(live.string() + suffix, target_.string() + suffix);
  }
  ASSERT_GT(fs::file_size(target_.string() + "-wal"), 0u);
  const auto restored = restore_it(true);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(files(), (Names{"a.db", "a.db.replaced-1", "a.db.replaced-1-wal"}));
  EXPECT_EQ(sum(target_), 1);
  EXPECT_EQ(sum(restored->kept), 10);
}

TEST_F(RestoreTest, DamagedDatabaseIsReplacedWithoutItsWal) {
  make_backup({1});
  std::ofstream(target_) << std::string(5'000, 'x');
  std::ofstream(target_.string() + "-wal") << std::string(5'000, 'y');
  const auto restored = restore_it(true);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(files(), (Names{"a.db", "a.db.replaced-1", "a.db.replaced-1-wal"}));
  EXPECT_EQ(sum(target_), 1);
  EXPECT_EQ(read_text(restored->kept), std::string(5'000, 'x'));
  // A log that was left beside no file gets none.
  fs::remove(restored->kept);
  EXPECT_EQ(restore_it(true).value().kept, target_.string() + ".replaced-2");
  // A log without a database is of no use, and must not meet the new one.
  fs::remove(target_);
  std::ofstream(target_.string() + "-wal") << std::string(5'000, 'y');
  ASSERT_TRUE(restore_it());
  EXPECT_EQ(sum(target_), 1);
}

TEST_F(RestoreTest, OpenDatabaseIsLeftAlone) {
  make_backup({1});
  make(target_, {10});
  {
    const auto database = open(target_);
    expect_refusal(Code::kUnavailable, "in use by process");
  }
  EXPECT_EQ(sum(target_), 10);
  EXPECT_EQ(files(), Names{"a.db"});
  EXPECT_TRUE(restore_it(true));
}

TEST_F(RestoreTest, OnlyABackupOfTheSameNetworkAndAgeIsTaken) {
  make(target_, {10});
  expect_refusal(Code::kNotFound, "there is no");
  std::ofstream(backup_).flush();
  expect_refusal(Code::kInvalidInput, "no SQLite database");
  std::ofstream(backup_) << "some text that is no database";
  expect_refusal(Code::kInvalidInput, "no SQLite database");
  fs::remove(backup_);
  make_backup({1}, 2);
  expect_refusal(Code::kConflict, "use a newer coffer");
  fs::remove(backup_);
  fs::remove(dir_.path() / "source.db");
  make_backup({1}, 1, "mainnet");
  expect_refusal(Code::kConflict, "belongs to bitcoin mainnet");
  fs::remove(backup_);
  fs::remove(dir_.path() / "source.db");
  make(backup_, {}, 1);
  ASSERT_TRUE(open(backup_)->run_transaction([](Transaction& t) {
    return t.script("DELETE FROM coffer_migrations WHERE module = 'toy'");
  }));
  expect_refusal(Code::kInvalidInput, "no tables of toy");
  fs::remove(backup_);
  ASSERT_TRUE(open(backup_)->run_transaction(
      [](Transaction& t) { return t.script("CREATE TABLE toy(id INTEGER)"); }));
  expect_refusal(Code::kInvalidInput, "no database of Coffer");
  fs::remove(backup_);
  make(backup_, {1});
  {
    std::fstream file(backup_, std::ios::in | std::ios::out | std::ios::binary);
    for (int page = 1; page < 4; ++page) {  // not the first: it holds the schema
      file.seekp(page * 4096L);
      file << std::string(64, '\xff');
    }
  }
  expect_refusal(Code::kCorrupt, "backup.db");
  EXPECT_EQ(sum(target_), 10);
  EXPECT_EQ(files(), Names{"a.db"});
}

TEST_F(RestoreTest, FileThatIsInUseIsNoBackup) {
  make(backup_, {1});
  const auto database = open(backup_);
  add(*database, 2);
  expect_refusal(Code::kConflict, "-wal is beside it");
  const auto itself = restore("sqlite:" + backup_.string(), backup_, {.expected = of_version(1)});
  ASSERT_FALSE(itself);
  EXPECT_EQ(itself.error().code, Code::kUsage);
}

// Another process makes a database, in the longest moment in which it can.
TEST_F(RestoreTest, DatabaseThatWasMadeMeanwhileIsNotOverwritten) {
  make_backup({1});
  const auto refused = restore("sqlite:" + target_.string(), backup_, {.expected = of_version(1)},
                               [&](const RestoreProgress&) {
                                 if (!fs::exists(target_)) make(target_, {10});
                               });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict) << refused.error().message;
  EXPECT_EQ(sum(target_), 10);
  EXPECT_EQ(files(), Names{"a.db"});
}

TEST_F(RestoreTest, BackupMustNotBeATargetFile) {
  make_backup({1});
  make(target_, {10});
  for (const char* suffix : {".restoring", ".restoring-wal", "-journal"}) {
    const fs::path named = target_.string() + suffix;
    fs::rename(backup_, named);
    const auto refused =
        restore("sqlite:" + target_.string(), named, {.expected = of_version(1), .replace = true});
    ASSERT_FALSE(refused) << suffix;
    EXPECT_EQ(refused.error().code, Code::kUsage) << refused.error().message;
    ASSERT_TRUE(fs::exists(named));
    fs::rename(named, backup_);
  }
  EXPECT_EQ(sum(backup_), 1);
  EXPECT_EQ(sum(target_), 10);
}

// A killed one may have left the empty file that held the place; a file of somebody else stays.
TEST_F(RestoreTest, PlaceholderIsEmpty) {
  make_backup({1});
  const fs::path place = target_.string() + ".restoring-place";
  std::ofstream(place).flush();
  ASSERT_TRUE(restore_it());
  EXPECT_EQ(files(), Names{"a.db"});
  std::ofstream(place) << "text";
  expect_refusal(Code::kConflict, "in the way");
  EXPECT_EQ(read_text(place), "text");
  EXPECT_EQ(sum(target_), 1);
}

TEST_F(RestoreTest, OneAtATimeAndAfterAKilledOne) {
  make_backup({1});
  const std::string unfinished = target_.string() + ".restoring";
  std::ofstream(unfinished) << "half";
  std::ofstream(unfinished + "-wal") << "half";
  const int other = ::open(unfinished.c_str(), O_RDWR);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  expect_refusal(Code::kUnavailable, "another restore");
  EXPECT_EQ(read_text(unfinished), "half");
  ::close(other);
  ASSERT_TRUE(restore_it());
  EXPECT_EQ(files(), Names{"a.db"});
  EXPECT_EQ(sum(target_), 1);
}

TEST_F(RestoreTest, FollowsLinksAndRefusesPostgres) {
  make_backup({1});
  fs::create_symlink(dir_.path() / "real.db", target_);
  ASSERT_TRUE(restore_it());
  EXPECT_TRUE(fs::is_symlink(target_));
  EXPECT_EQ(sum(dir_.path() / "real.db"), 1);
  const auto server = restore("postgres://me:secret@db/x", backup_, {.expected = of_version(1)});
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Code::kUsage);
  EXPECT_NE(server.error().message.find("pg_restore --host=db --username=me"), std::string::npos);
  EXPECT_EQ(server.error().message.find("secret"), std::string::npos);
}

class InspectTest : public EngineTest {};
COFFER_ON_EVERY_ENGINE(InspectTest);

TEST_P(InspectTest, SizeAndConnections) {
  const auto before = inspect(db());
  ASSERT_TRUE(before) << before.error().message;
  script("CREATE TABLE t(s TEXT)");
  ASSERT_TRUE(execute("INSERT INTO t VALUES ($1)", {std::string(1u << 20, 'x')}));
  const auto more = open();
  const auto held = more->acquire();
  const auto after = inspect(db());
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_GT(after->size_bytes, before->size_bytes);
  EXPECT_EQ(after->connections.has_value(), !is_sqlite());
  if (GetParam() == Engine::kPostgres) {
    EXPECT_EQ(before->connections, 0);
    EXPECT_EQ(after->connections, 1);
  }
}

}  // namespace
}  // namespace coffer::sql::test
