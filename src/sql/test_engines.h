// One suite over every way to a database: SQLite, PostgreSQL, and PostgreSQL behind PgBouncer.
#pragma once

#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "sql/connection.h"
#include "sql/test_postgres.h"

namespace coffer::sql::test {

enum class Engine { kSqlite, kPostgres, kPgBouncer };

inline const char* to_string(Engine engine) {
  constexpr const char* kNames[] = {"Sqlite", "Postgres", "PgBouncer"};
  return kNames[static_cast<std::size_t>(engine)];
}
inline void PrintTo(Engine engine, std::ostream* out) {
  *out << to_string(engine);
}
inline std::string engine_name(const testing::TestParamInfo<Engine>& info) {
  return to_string(info.param);
}

class EngineTest : public testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    options_.seed = 1;
    if (GetParam() == Engine::kSqlite) {
      options_.location = "sqlite:" + (dir_.path() / "test.db").string();
      return;
    }
    COFFER_REQUIRE_POSTGRES_OR_SKIP();
    if (GetParam() == Engine::kPgBouncer) {
      COFFER_REQUIRE_PGBOUNCER_OR_SKIP();
    }
    const std::string name = PostgresServer::shared()->fresh_database();
    options_.location = GetParam() == Engine::kPgBouncer ? PgBouncer::shared()->location(name)
                                                         : PostgresServer::shared()->location(name);
  }

  bool is_sqlite() const { return GetParam() == Engine::kSqlite; }

  // The database of this test, opened once.
  Database& db() {
    if (!database_) database_ = open();
    return *database_;
  }
  std::unique_ptr<Database> open() {
    auto opened = Database::open(options_);
    if (!opened) ADD_FAILURE() << opened.error().message;
    return std::move(opened).value();
  }

  // SQL for both: STRICT and the names of types differ.
  std::string portable(std::string sql) const {
    if (!is_sqlite()) return sql;
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (auto at = sql.find(from); at != std::string::npos; at = sql.find(from, at + to.size()))
        sql.replace(at, from.size(), to);
    };
    replace("BIGINT", "INTEGER");
    replace("BYTEA", "BLOB");
    replace("BOOLEAN", "INTEGER");
    return sql;
  }
  void script(const std::string& sql) {
    const auto done = db().run_transaction(
        [&](Transaction& transaction) { return transaction.script(portable(sql)); });
    ASSERT_TRUE(done) << done.error().message;
  }
  Result<std::int64_t> execute(std::string_view sql, Params params = {}) {
    return db().run_transaction(
        [&](Transaction& transaction) { return transaction.execute(sql, params); });
  }
  std::int64_t number(std::string_view sql, Params params = {}) {
    auto connection = db().acquire();
    if (!connection) {
      ADD_FAILURE() << connection.error().message;
      return -1;
    }
    const auto value = connection->value<std::int64_t>(sql, params);
    EXPECT_TRUE(value) << value.error().message;
    return value && *value ? **value : -1;
  }

  TempDir dir_;
  DatabaseOptions options_;
  std::unique_ptr<Database> database_;
};

inline void expect_one_line(const Error& error) {
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
}

}  // namespace coffer::sql::test

#define COFFER_ON_EVERY_ENGINE(suite)                                                \
  INSTANTIATE_TEST_SUITE_P(Every, suite,                                             \
                           testing::Values(::coffer::sql::test::Engine::kSqlite,     \
                                           ::coffer::sql::test::Engine::kPostgres,   \
                                           ::coffer::sql::test::Engine::kPgBouncer), \
                           ::coffer::sql::test::engine_name)

#define COFFER_ON_EVERY_SERVER(suite)                                                \
  INSTANTIATE_TEST_SUITE_P(Every, suite,                                             \
                           testing::Values(::coffer::sql::test::Engine::kPostgres,   \
                                           ::coffer::sql::test::Engine::kPgBouncer), \
                           ::coffer::sql::test::engine_name)
