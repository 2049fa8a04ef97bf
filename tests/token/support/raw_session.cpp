#include "token/support/raw_session.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sqlite3.h>

#include "base/check.h"
#include "token/support/case_file.h"

namespace coffer::token::test {
namespace {

constexpr int kMostSeconds = 60;

void add_first_error(RawAnswer& answer, std::string code, std::string message) {
  if (!answer.code.empty()) return;
  answer.code = std::move(code);
  answer.message = std::move(message);
}

class RawSqlite final : public RawSession {
 public:
  explicit RawSqlite(const std::string& file) {
    CHECK(sqlite3_open(file.c_str(), &db_) == SQLITE_OK);
  }
  ~RawSqlite() override { sqlite3_close(db_); }

  std::optional<RawAnswer> run(const std::string& script) override {
    RawAnswer answer;
    for (const std::string& statement : split_statements(script)) {
      const auto add_row = [](void* to, int count, char** fields, char**) {
        std::string row;
        for (int i = 0; i < count; ++i)
          row += (i == 0 ? "" : "|") + std::string(fields[i] == nullptr ? "" : fields[i]);
        static_cast<RawAnswer*>(to)->rows.push_back(row);
        return 0;
      };
      if (sqlite3_exec(db_, statement.c_str(), add_row, &answer, nullptr) != SQLITE_OK)
        add_first_error(answer, code(), sqlite3_errmsg(db_));
    }
    return answer;
  }
  RawAnswer finish() override { return {"other", "nothing waits on SQLite", {}}; }

 private:
  std::string code() const {
    const std::string message = sqlite3_errmsg(db_);
    if (message.starts_with("TK")) return message.substr(0, 5);
    if (message.starts_with("CHECK constraint failed")) return "check";  // also by a trigger
    switch (sqlite3_extended_errcode(db_)) {
      case SQLITE_CONSTRAINT_UNIQUE:
      case SQLITE_CONSTRAINT_PRIMARYKEY: return "unique";
      case SQLITE_CONSTRAINT_CHECK:
      case SQLITE_CONSTRAINT_DATATYPE: return "check";
      case SQLITE_CONSTRAINT_NOTNULL: return "notnull";
      case SQLITE_CONSTRAINT_FOREIGNKEY: return "foreign";
      default: return "other";
    }
  }
  sqlite3* db_ = nullptr;
};

PGconn* connect(const std::string& location) {
  PGconn* connection = PQconnectdb(location.c_str());
  if (PQstatus(connection) != CONNECTION_OK) ADD_FAILURE() << PQerrorMessage(connection);
  PQclear(PQexec(connection, "SET client_min_messages = error"));
  return connection;
}

class RawPostgres final : public RawSession {
 public:
  explicit RawPostgres(const std::string& location)
      : connection_(connect(location)), watcher_(connect(location)) {}
  ~RawPostgres() override {
    PQfinish(connection_);
    PQfinish(watcher_);
  }

  std::optional<RawAnswer> run(const std::string& script) override {
    answer_ = {};
    left_ = split_statements(script);
    next_ = 0;
    return go_on(/*may_wait=*/false) ? std::optional(answer_) : std::nullopt;
  }
  RawAnswer finish() override {
    EXPECT_TRUE(go_on(/*may_wait=*/true));
    return answer_;
  }

 private:
  // False if a lock is in the way and the caller does not want to wait for it.
  bool go_on(bool may_wait) {
    while (sent_ || next_ < left_.size()) {
      if (!sent_) CHECK(PQsendQuery(connection_, left_[next_++].c_str()) == 1);
      sent_ = true;
      if (!take_results(may_wait)) return false;
      sent_ = false;
    }
    return true;
  }

  bool take_results(bool may_wait) {
    for (int waited_ms = 0; PQisBusy(connection_) == 1;) {
      constexpr int kStepMs = 5;
      pollfd wait{PQsocket(connection_), POLLIN, 0};
      if (::poll(&wait, 1, kStepMs) == 0) {
        waited_ms += kStepMs;
        if (!may_wait && is_blocked()) return false;
        if (waited_ms > kMostSeconds * 1'000) {
          ADD_FAILURE() << "no answer in " << kMostSeconds << " s";
          return true;
        }
        continue;
      }
      CHECK(PQconsumeInput(connection_) == 1);
    }
    while (PGresult* result = PQgetResult(connection_)) {
      add(result);
      PQclear(result);
    }
    return true;
  }

  bool is_blocked() {
    const std::string sql = "SELECT cardinality(pg_blocking_pids(" +
                            std::to_string(PQbackendPID(connection_)) + ")) > 0";
    PGresult* result = PQexec(watcher_, sql.c_str());
    const bool blocked = PQntuples(result) == 1 && PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return blocked;
  }

  void add(PGresult* result) {
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_FATAL_ERROR)
      add_first_error(answer_, PQresultErrorField(result, PG_DIAG_SQLSTATE),
                      PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
    for (int row = 0; row < PQntuples(result); ++row) {
      std::string text;
      for (int i = 0; i < PQnfields(result); ++i) {
        constexpr Oid kBoolean = 16;
        std::string field = PQgetvalue(result, row, i);
        if (PQftype(result, i) == kBoolean && !field.empty()) field = field == "t" ? "1" : "0";
        text += (i == 0 ? "" : "|") + field;
      }
      answer_.rows.push_back(text);
    }
  }

  PGconn* const connection_;
  PGconn* const watcher_;
  RawAnswer answer_;
  std::vector<std::string> left_;
  std::size_t next_ = 0;
  bool sent_ = false;
};

}  // namespace

std::unique_ptr<RawSession> open_raw_sqlite(const std::string& file) {
  return std::make_unique<RawSqlite>(file);
}
std::unique_ptr<RawSession> open_raw_postgres(const std::string& location) {
  return std::make_unique<RawPostgres>(location);
}

}  // namespace coffer::token::test
