// Backups of a small module, and a place to restore them to.
#pragma once

#include <algorithm>

#include "sql/backup.h"
#include "sql/restore.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {

class RestoreTest : public testing::Test {
 protected:
  RestoreTest() {
    known_.push_back({"toy", Dialect::kSqlite, 1, "first", "1111",
                      "CREATE TABLE toy(id INTEGER PRIMARY KEY, s TEXT) STRICT"});
    known_.push_back(
        {"toy", Dialect::kSqlite, 2, "second", "2222", "INSERT INTO toy(id) VALUES(0)"});
  }
  MigrateOptions of_version(int version, const char* network = "regtest") {
    kept_.clear();
    for (const auto& migration : known_)
      if (migration.version <= version) kept_.push_back(migration);
    return {.known = kept_, .identity = Identity{"bitcoin", network, {}, 1}};
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

}  // namespace coffer::sql::test
