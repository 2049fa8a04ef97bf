// For tests: changes an SQLite file as somebody for whom no constraint and no trigger holds.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

namespace coffer::sql::test {

inline void damage_sqlite(const std::string& path, const std::string& text) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
  const auto run = [&](const std::string& statement) {
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(handle, statement.c_str(), nullptr, nullptr, &message), SQLITE_OK)
        << (message != nullptr ? message : "") << ": " << statement;
    sqlite3_free(message);
  };
  run("PRAGMA ignore_check_constraints = ON");
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  run(text);
  sqlite3_close(handle);
}

// Makes a file from the text of a dump.
inline void load_sqlite(const std::string& path, const std::string& text) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, text.c_str(), nullptr, nullptr, &message), SQLITE_OK)
      << (message != nullptr ? message : "");
  sqlite3_free(message);
  sqlite3_close(handle);
}

}  // namespace coffer::sql::test
