#include "sql/restore.h"

#include <sys/file.h>

#include <algorithm>

#include "sql/backup.h"
#include "sql/inspect.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

class RestoreTest : public testing::Test {
 protected:
  RestoreTest() {
    for (const auto& migration : embedded_migrations())
      if (migration.module == "core") known_.push_back(migration);
    known_.push_back({"toy", Dialect::kSqlite, 1, "first", "1111",
                      "CREATE TABLE toy(id INTEGER PRIMARY KEY, s TEXT) STRICT"});
    known_.push_back(
        {"toy", Dialect::kSqlite, 2, "second", "2222", "INSERT INTO toy(id) VALUES(0)"});
  }
  MigrateOptions of_version(int version, const char* network = "regtest") {
    kept_.clear();
    for (const auto& migration : known_)
      if (migration.module != "toy" || migration.version <= version) kept_.push_back(migration);
    return {.modules = {"toy"}, .identity = Identity{"bitcoin", network, {}, 1}, .known = kept_};
  }
  static std::unique_ptr<Database> open(const fs::path& path) {
    DatabaseOptions options;
    options.location = "sqlite:" + path.string();
    auto opened = Database::open(options);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(opened).value();
  }
  static void add(Database& database, std::int64_t id) {
    ASSERT_TRUE(database.run_transaction([&](Transaction& t) {
      return t.execute("INSERT INTO toy(id, s) VALUES ($1, 'some text')", {id});
    }));
  }
  // A database that holds these ids, closed.
  void make(const fs::path& path, std::initializer_list<std::int64_t> ids, int version = 1,
            const char* network = "regtest") {
    const auto database = open(path);
    ASSERT_TRUE(migrate(*database, of_version(version, network)));
    for (const std::int64_t id : ids) add(*database, id);
  }
  void make_backup(std::initializer_list<std::int64_t> ids, int version = 1,
                   const char* network = "regtest") {
    make(dir_.path() / "source.db", ids, version, network);
    ASSERT_TRUE(backup(*open(dir_.path() / "source.db"), backup_));
  }
  static std::int64_t sum(const fs::path& path) {
    const auto database = open(path);
    auto connection = database->acquire().value();
    return connection.value<std::int64_t>("SELECT sum(id) FROM toy").value().value_or(-1);
  }
  Result<Restored> restore_it(bool replace = false) {
    return restore("sqlite:" + target_.string(), backup_,
                   {.expected = of_version(1), .replace = replace});
  }
  void expect_refusal(Code code, const std::string& text, bool replace = true) {
    const auto refused = restore_it(replace);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, code) << refused.error().message;
    EXPECT_NE(refused.error().message.find(text), std::string::npos) << refused.error().message;
    expect_one_line(refused.error());
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(data_))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
  using Names = std::vector<std::string>;

  TempDir dir_;
  const fs::path backup_ = dir_.path() / "backup.db", data_ = dir_.path() / "data",
                 target_ = data_ / "a.db";
  const bool made_ = fs::create_directory(data_);
  std::vector<Migration> known_, kept_;
};

TEST_F(RestoreTest, IntoAnEmptyPlace) {
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

TEST_F(RestoreTest, TheReplacedOneIsKept) {
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

TEST_F(RestoreTest, WhatAKilledProcessLeftInTheLogIsKeptWithIt) {
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

TEST_F(RestoreTest, ADamagedOneIsReplacedAndItsLogTakesNoPart) {
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

TEST_F(RestoreTest, AnOpenDatabaseIsLeftAlone) {
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
      file.seekp(page * 4096);
      file << std::string(64, '\xff');
    }
  }
  expect_refusal(Code::kCorrupt, "backup.db");
  EXPECT_EQ(sum(target_), 10);
  EXPECT_EQ(files(), Names{"a.db"});
}

TEST_F(RestoreTest, AFileThatIsInUseIsNoBackup) {
  make(backup_, {1});
  const auto database = open(backup_);
  add(*database, 2);
  expect_refusal(Code::kConflict, "-wal is beside it");
  const auto itself = restore("sqlite:" + backup_.string(), backup_, {.expected = of_version(1)});
  ASSERT_FALSE(itself);
  EXPECT_EQ(itself.error().code, Code::kUsage);
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

TEST_F(RestoreTest, ThroughALinkAndNotOnPostgres) {
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
