// SQLite files that are empty, half made, or locked by another program.
#include <sqlite3.h>

#include <future>

#include "base/result.h"
#include "sql/connection.h"
#include "sql/stop_signal.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

class SqliteFiles : public testing::Test {
 protected:
  SqliteFiles() {
    options_.location = "sqlite:" + path_.string();
    options_.lock_timeout_ms = 100;
    options_.pool_timeout_ms = 100;
  }
  // One that is there, with a row.
  void make() const {
    const auto made = Database::open(options_).value()->run_transaction(
        [](Transaction& t) { return t.script("CREATE TABLE t(n); INSERT INTO t VALUES (7)"); });
    ASSERT_TRUE(made) << made.error().message;
  }
  static Result<std::int64_t> write(Database& database) {
    return database.run_transaction(
        [](Transaction& t) { return t.execute("INSERT INTO t VALUES (8)"); },
        {.give_up_after_ms = 300});
  }
  static void expect_unavailable(const Error& error) {
    EXPECT_EQ(error.code, Code::kUnavailable) << error.message;
    EXPECT_TRUE(error.retryable) << error.message;
    EXPECT_NE(error.message.find("locked"), std::string::npos) << error.message;
    expect_one_line(error);
  }

  TempDir dir_;
  const fs::path path_ = dir_.path() / "a.db";
  DatabaseOptions options_;
};

// Another program, as the file sees it.
class Foreign {
 public:
  explicit Foreign(const fs::path& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK); }
  ~Foreign() { sqlite3_close(db_); }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
  void run(const char* sql) const {
    EXPECT_EQ(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
  }

 private:
  sqlite3* db_ = nullptr;
};

TEST_F(SqliteFiles, EmptyFileIsRefused) {
  for (const bool create : {true, false}) {
    std::ofstream(path_).close();
    options_.create_if_missing = create;
    const auto refused = Database::open(options_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kCorrupt) << refused.error().message;
    EXPECT_NE(refused.error().message.find("the file is empty"), std::string::npos);
    EXPECT_NE(refused.error().message.find("a.db"), std::string::npos);
    expect_one_line(refused.error());
    EXPECT_EQ(fs::file_size(path_), 0u);
  }
}

TEST_F(SqliteFiles, NewFileIsNeverEmpty) {
  std::atomic<bool> done{false};
  auto watching = std::async(std::launch::async, [&] {
    int empty = 0;
    while (!done) {
      std::error_code error;
      const auto size = fs::file_size(path_, error);
      if (!error && size == 0) ++empty;
    }
    return empty;
  });
  for (int i = 0; i < 20; ++i) {
    for (const auto& file : fs::directory_iterator(dir_.path())) fs::remove(file);
    ASSERT_TRUE(Database::open(options_));
    EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
  done = true;
  EXPECT_EQ(watching.get(), 0);
}

TEST_F(SqliteFiles, ManyMakeOneDatabase) {
  std::vector<std::future<bool>> made;
  made.reserve(8);
  for (int i = 0; i < 8; ++i)
    made.push_back(std::async(std::launch::async, [this, i] {
      auto patient = options_;
      patient.lock_timeout_ms = 10'000;
      const auto database = Database::open(patient);
      if (!database) return false;
      return (*database)
          ->run_transaction([&](Transaction& t) -> Result<> {
            TRY(t.script("CREATE TABLE IF NOT EXISTS t(n)"));
            (void)TRY(t.execute("INSERT INTO t VALUES ($1)", {i}));
            return {};
          })
          .has_value();
    }));
  for (auto& one : made) EXPECT_TRUE(one.get());
  const auto database = Database::open(options_).value();
  EXPECT_EQ(database->acquire()->value<std::int64_t>("SELECT count(*) FROM t").value(), 8);
  // Nothing else is left.
  for (const auto& file : fs::directory_iterator(dir_.path()))
    EXPECT_TRUE(file.path().string().starts_with(path_.string()) &&
                file.path().string().find(".new-") == std::string::npos)
        << file.path();
}

// What a process that was killed while it made the database left.
TEST_F(SqliteFiles, UnfinishedNewFileIsNoObstacle) {
  std::ofstream(path_.string() + ".new-abcdef").close();
  EXPECT_TRUE(Database::open(options_));
}

TEST_F(SqliteFiles, WritesBehindForeignLockAreUnavailable) {
  ASSERT_NO_FATAL_FAILURE(make());
  const auto database = Database::open(options_).value();
  const Foreign other(path_);
  other.run("BEGIN EXCLUSIVE");
  const auto refused = write(*database);
  ASSERT_FALSE(refused);
  expect_unavailable(refused.error());
  // Who only reads notices nothing, also if it opens the file only now.
  EXPECT_EQ(database->acquire()->value<std::int64_t>("SELECT n FROM t").value(), 7);
  const auto late = Database::open(options_).value();
  EXPECT_EQ(late->acquire()->value<std::int64_t>("SELECT n FROM t").value(), 7);
  other.run("COMMIT");
  EXPECT_TRUE(write(*database));
}

// The others of this process wait for the one that waits for the lock.
TEST_F(SqliteFiles, EveryWriterBehindForeignLockIsAnswered) {
  ASSERT_NO_FATAL_FAILURE(make());
  const auto database = Database::open(options_).value();
  const Foreign other(path_);
  other.run("BEGIN EXCLUSIVE");
  std::vector<std::future<Error>> refused;
  refused.reserve(6);
  for (int i = 0; i < 6; ++i)
    refused.push_back(std::async(std::launch::async, [&] { return write(*database).error(); }));
  for (auto& one : refused) {
    ASSERT_EQ(one.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    const Error error = one.get();
    EXPECT_EQ(error.code, Code::kUnavailable) << error.message;
    EXPECT_TRUE(error.retryable) << error.message;
  }
}

TEST_F(SqliteFiles, ExclusivelyLockedFileCannotBeOpened) {
  ASSERT_NO_FATAL_FAILURE(make());
  for (const char* const lock : {"PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE",
                                 "PRAGMA journal_mode=DELETE; BEGIN EXCLUSIVE"}) {
    const Foreign other(path_);
    other.run(lock);
    const auto refused = Database::open(options_);
    ASSERT_FALSE(refused) << lock;
    expect_unavailable(refused.error());
  }
  EXPECT_TRUE(Database::open(options_));
}

TEST_F(SqliteFiles, StopEndsWaitForForeignLock) {
  ASSERT_NO_FATAL_FAILURE(make());
  StopSignal stop;
  options_.stop = &stop;
  options_.lock_timeout_ms = 60'000;
  const auto database = Database::open(options_).value();
  const Foreign other(path_);
  other.run("BEGIN EXCLUSIVE");
  auto waiting = std::async(std::launch::async, [&] { return write(*database).error().code; });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  stop.request();
  ASSERT_EQ(waiting.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(waiting.get(), Code::kUnavailable);
}

}  // namespace
}  // namespace coffer::sql::test
