// What is SQLite's alone: its settings, its file on bad days, its backup.
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/random.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "sql/backup.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

DatabaseOptions at(const fs::path& path) {
  DatabaseOptions options;
  options.location = "sqlite:" + path.string();
  return options;
}

Result<std::int64_t> execute(Database& database, std::string_view sql, Params params = {}) {
  return database.run_transaction([&](Transaction& t) { return t.execute(sql, params); });
}

std::int64_t count(Database& database) {
  auto connection = database.acquire().value();
  return connection.value<std::int64_t>("SELECT count(*) FROM t").value().value();
}

TEST(Sqlite, SettingsOfReadersAndWriter) {
  const TempDir dir;
  const auto database = Database::open(at(dir.path() / "a.db")).value();
  for (const Access access : {Access::kRead, Access::kWrite}) {
    auto connection = database->acquire(access).value();
    const auto integer = [&](std::string_view sql) {
      return connection.value<std::int64_t>(sql).value().value();
    };
    EXPECT_EQ(connection.value<std::string>("PRAGMA journal_mode").value(), "wal");
    EXPECT_EQ(integer("PRAGMA synchronous"), 2);  // FULL
    EXPECT_EQ(integer("PRAGMA foreign_keys"), 1);
    EXPECT_EQ(integer("PRAGMA trusted_schema"), 0);
    EXPECT_EQ(integer("PRAGMA query_only"), access == Access::kRead ? 1 : 0);
  }
  struct stat status{};
  for (const char* name : {"a.db", "a.db-wal"}) {
    ASSERT_EQ(::stat((dir.path() / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << name;
  }
}

// The locks of a process on a file are lost when it closes any descriptor of that file (POSIX):
// then another process would take itself for the last one and take the log away.
TEST(Sqlite, OneMoreConnectionDoesNotLoosenTheOthers) {
  const TempDir dir;
  // Another process, made before SQLite knows the file here: opens, counts and closes when asked.
  int ask[2], answer[2];
  ASSERT_EQ(::pipe(ask), 0);
  ASSERT_EQ(::pipe(answer), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(ask[1]);
    for (char c; ::read(ask[0], &c, 1) == 1;) {
      auto database = Database::open(at(dir.path() / "a.db"));
      c = static_cast<char>(database ? count(**database) : 99);
      if (database) database->reset();
      if (::write(answer[1], &c, 1) != 1) break;
    }
    ::_exit(0);
  }
  const auto counted_by_another = [&] {
    char c = 'g';
    EXPECT_EQ(::write(ask[1], &c, 1), 1);
    EXPECT_EQ(::read(answer[0], &c, 1), 1);
    return static_cast<int>(c);
  };
  const auto first = Database::open(at(dir.path() / "a.db")).value();
  ASSERT_TRUE(
      first->run_transaction([](Transaction& t) { return t.script("CREATE TABLE t (n)"); }));
  ASSERT_EQ(count(*first), 0);
  const auto second = Database::open(at(dir.path() / "a.db")).value();
  ASSERT_EQ(count(*second), 0);
  EXPECT_EQ(counted_by_another(), 0);
  EXPECT_TRUE(fs::exists(dir.path() / "a.db-wal")) << "the log is in use here";
  ASSERT_TRUE(execute(*first, "INSERT INTO t VALUES (1)"));
  EXPECT_EQ(counted_by_another(), 1);
  ASSERT_TRUE(execute(*second, "INSERT INTO t VALUES (2)"));
  EXPECT_EQ(count(*first), 2);
  ::close(ask[1]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
}

TEST(Sqlite, ClockCanStandInViewsAndTriggers) {
  const TempDir dir;
  ManualClock clock(1'000);
  auto options = at(dir.path() / "a.db");
  options.clock = &clock;
  const auto database = Database::open(options).value();
  ASSERT_TRUE(database->run_transaction([](Transaction& t) {
    return t.script(
        "CREATE TABLE t(id INTEGER, at INTEGER DEFAULT (coffer_now())) STRICT;"
        "CREATE VIEW old AS SELECT id FROM t WHERE at < coffer_now();"
        "INSERT INTO t(id) VALUES (1)");
  }));
  auto connection = database->acquire().value();
  EXPECT_EQ(connection.value<std::int64_t>("SELECT at FROM t").value(), 1'000);
  EXPECT_EQ(connection.value<std::int64_t>("SELECT count(*) FROM old").value(), 0);
  clock.advance_ms(1);
  EXPECT_EQ(connection.value<std::int64_t>("SELECT count(*) FROM old").value(), 1);
}

TEST(Sqlite, GivesUpByTheClockItIsGiven) {
  const TempDir dir;
  ManualClock clock(1'000);
  std::int64_t paused_ms = 0;
  auto options = at(dir.path() / "a.db");
  options.clock = &clock;
  options.lock_timeout_ms = 1;
  options.pause = [&](std::int64_t ms) {
    clock.advance_ms(ms);
    paused_ms += ms;
  };
  const auto database = Database::open(options).value();
  const auto other = Database::open(at(dir.path() / "a.db")).value();
  auto connection = other->acquire(Access::kWrite).value();
  const auto writing = connection.begin({}).value();
  const auto busy =
      database->run_transaction([](Transaction& t) { return t.script("CREATE TABLE t (n)"); },
                                {.max_attempts = 1'000'000, .give_up_after_ms = 2'000});
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, Code::kUnavailable) << busy.error().message;
  EXPECT_GE(paused_ms, 2'000);
  EXPECT_LE(paused_ms, 2'500);  // the last pause at most
}

TEST(Sqlite, CountsItsWork) {
  const TempDir dir;
  const auto database = Database::open(at(dir.path() / "a.db")).value();
  ASSERT_TRUE(execute(*database, "CREATE TABLE t(id INTEGER)"));
  const auto cost = [&] {
    auto connection = database->acquire().value();
    const std::int64_t before = connection.vm_steps();
    EXPECT_TRUE(connection.value<std::int64_t>("SELECT sum(id) FROM t WHERE id > 5"));
    return connection.vm_steps() - before;
  };
  ASSERT_TRUE(execute(*database, "INSERT INTO t VALUES (7)"));
  const std::int64_t small = cost();
  EXPECT_GT(small, 0);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(execute(*database, "INSERT INTO t VALUES (8)"));
  EXPECT_GT(cost(), small + 100);
}

TEST(Sqlite, UnopenablePaths) {
  const TempDir dir;
  const auto error_of = [](const fs::path& path, bool create = true) {
    auto options = at(path);
    options.create_if_missing = create;
    const auto refused = Database::open(options);
    EXPECT_FALSE(refused);
    expect_one_line(refused.error());
    return refused.error();
  };
  EXPECT_EQ(error_of(dir.path() / "nowhere" / "a.db").code, Code::kNotFound);
  EXPECT_EQ(error_of(dir.path() / "none.db", false).code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(dir.path() / "none.db"));
  EXPECT_EQ(error_of(dir.path()).code, Code::kUnavailable);  // a directory
  std::ofstream(dir.path() / "text.db") << std::string(5'000, 'x');
  EXPECT_EQ(error_of(dir.path() / "text.db").code, Code::kCorrupt);
}

TEST(Sqlite, DamagedPageIsCorrupt) {
  const TempDir dir;
  const fs::path path = dir.path() / "a.db";
  {
    const auto database = Database::open(at(path)).value();
    ASSERT_TRUE(execute(*database, "CREATE TABLE t(id INTEGER PRIMARY KEY, s TEXT)"));
    ASSERT_TRUE(execute(*database,
                        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                        "2000) INSERT INTO t SELECT i, 'some text' FROM n"));
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (int page = 1; page < 8; ++page) {  // not the first: it holds the schema
    file.seekp(page * 4096L);
    file << std::string(64, '\xff');
  }
  file.close();
  const auto database = Database::open(at(path)).value();
  auto connection = database->acquire().value();
  const auto read = connection.value<std::int64_t>("SELECT sum(length(s)) FROM t");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kCorrupt) << read.error().message;
  EXPECT_NE(read.error().message.find("restore a backup"), std::string::npos);
}

class SmallDisk {
 public:
  SmallDisk() { mounted_ = ::mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=2m") == 0; }
  ~SmallDisk() {
    if (mounted_) ::umount2(dir_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  bool grow() const {
    return ::mount("tmpfs", dir_.path().c_str(), "tmpfs", MS_REMOUNT, "size=64m") == 0;
  }
  const fs::path& path() const { return dir_.path(); }

 private:
  TempDir dir_;
  bool mounted_;
};

TEST(Sqlite, FullDiskIsReportedAndLosesNothing) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs is not permitted here";
  const auto database = Database::open(at(disk.path() / "a.db")).value();
  ASSERT_TRUE(execute(*database, "CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB)"));
  std::int64_t acknowledged = 0;
  Result<std::int64_t> done;
  const Bytes bytes(10'000);
  while (acknowledged < 1'000 &&
         (done = execute(*database, "INSERT INTO t VALUES ($1, $2)", {acknowledged, bytes})))
    ++acknowledged;
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kUnavailable) << done.error().message;
  EXPECT_NE(done.error().message.find("the disk is full"), std::string::npos);
  EXPECT_FALSE(done.error().retryable);
  expect_one_line(done.error());
  EXPECT_EQ(count(*database), acknowledged);  // reading goes on
  EXPECT_FALSE(backup(*database, disk.path() / "copy.db"));
  for (const auto& entry : fs::directory_iterator(disk.path()))
    EXPECT_TRUE(entry.path().filename().string().starts_with("a.db")) << entry.path();
  ASSERT_TRUE(disk.grow());
  EXPECT_TRUE(execute(*database, "INSERT INTO t VALUES ($1, $2)", {acknowledged, bytes}));
  EXPECT_EQ(count(*database), acknowledged + 1);
}

// The first connection needs room for the log's shared memory, even to read.
TEST(Sqlite, OpeningOnAFullDiskSaysSo) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs is not permitted here";
  const auto insert = [&](int id) -> Result<std::int64_t> {
    const auto database = TRY(Database::open(at(disk.path() / "a.db")));
    return execute(*database, "INSERT INTO t VALUES ($1)", {id});
  };
  ASSERT_TRUE(
      execute(*Database::open(at(disk.path() / "a.db")).value(), "CREATE TABLE t(id INTEGER)"));
  ASSERT_TRUE(insert(1));
  const fs::path filler = disk.path() / "filler";
  std::ofstream(filler) << std::string(4u << 20, 'x');
  for (int i = 0; i < 2; ++i) {
    const auto refused = insert(2);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnavailable) << refused.error().message;
    EXPECT_NE(refused.error().message.find("the disk is full"), std::string::npos)
        << refused.error().message;
    EXPECT_FALSE(refused.error().retryable);
    expect_one_line(refused.error());
  }
  fs::remove(filler);
  EXPECT_TRUE(insert(2));
  EXPECT_EQ(count(*Database::open(at(disk.path() / "a.db")).value()), 2);
}

TEST(Sqlite, AcknowledgedCommitsSurviveAKill) {
  const TempDir dir;
  const fs::path path = dir.path() / "a.db";
  std::int64_t acknowledged = -1;
  for (int round = 0; round < 5; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto database = Database::open(at(path)).value();
      CHECK(execute(*database, "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY)"));
      for (std::int64_t i = acknowledged + 1;; ++i) {
        CHECK(execute(*database, "INSERT INTO t VALUES ($1) ON CONFLICT DO NOTHING", {i}));
        CHECK(::write(pipe[1], &i, sizeof i) == sizeof i);
      }
    }
    ::close(pipe[1]);
    std::int64_t next = 0;
    for (int i = 0; i < 20 && ::read(pipe[0], &next, sizeof next) == sizeof next; ++i)
      acknowledged = next;
    ::kill(child, SIGKILL);
    while (::read(pipe[0], &next, sizeof next) == sizeof next) acknowledged = next;
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(pipe[0]);
    const auto database = Database::open(at(path)).value();
    const std::int64_t rows = count(*database);
    EXPECT_GE(rows, acknowledged + 1);
    EXPECT_LE(rows, acknowledged + 2);  // committed, but killed before it could say so
  }
}

TEST(SqliteBackup, ConsistentWhileWritersContinue) {
  const TempDir dir;
  const auto database = Database::open(at(dir.path() / "a.db")).value();
  ASSERT_TRUE(execute(*database, "CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB)"));
  ASSERT_TRUE(execute(*database,
                      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                      "4000) INSERT INTO t SELECT i, randomblob(4000) FROM n"));
  int calls = 0;
  BackupProgress last;
  const auto done = backup(*database, dir.path() / "copy.db", [&](const BackupProgress& now) {
    // A writer between any two steps.
    EXPECT_TRUE(execute(*database, "INSERT INTO t VALUES ($1, $2)", {10'000 + calls, Bytes(9)}));
    EXPECT_GE(now.done_pages, last.done_pages);
    last = now;
    ++calls;
    return true;
  });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_GT(calls, 2);
  EXPECT_EQ(last.done_pages, last.all_pages);
  EXPECT_EQ(count(*database), 4'000 + calls);
  const auto copy = Database::open(at(dir.path() / "copy.db")).value();
  EXPECT_EQ(count(*copy), 4'000);
  EXPECT_EQ(backup(*database, dir.path() / "copy.db").error().code, Code::kConflict);
}

// Two to the same name: neither disturbs the other, and the later one overwrites nothing.
TEST(SqliteBackup, TwoToTheSameName) {
  const TempDir dir;
  const auto database = Database::open(at(dir.path() / "a.db")).value();
  ASSERT_TRUE(execute(*database, "CREATE TABLE t(b BLOB)"));
  ASSERT_TRUE(execute(*database, "INSERT INTO t VALUES ($1)", {Bytes(9'000'000)}));
  const fs::path to = dir.path() / "copy.db";
  bool once = false;
  const auto first = backup(*database, to, [&](const BackupProgress&) {
    if (std::exchange(once, true)) return true;
    const auto second = backup(*database, to);
    EXPECT_TRUE(second) << second.error().message;
    return true;
  });
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Code::kConflict) << first.error().message;
  EXPECT_EQ(count(*Database::open(at(to)).value()), 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}),
            4);  // a.db with its log, copy.db
}

TEST(SqliteBackup, CanBeStopped) {
  const TempDir dir;
  const auto database = Database::open(at(dir.path() / "a.db")).value();
  ASSERT_TRUE(execute(*database, "CREATE TABLE t(b BLOB)"));
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(execute(*database, "INSERT INTO t VALUES ($1)", {Bytes(1'000'000)}));
  const auto stopped =
      backup(*database, dir.path() / "copy.db", [](const BackupProgress&) { return false; });
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  for (const auto& entry : fs::directory_iterator(dir.path()))
    EXPECT_TRUE(entry.path().filename().string().starts_with("a.db")) << entry.path();
}

}  // namespace
}  // namespace coffer::sql::test
