// The database's own time on SQLite (W8), which all processes that use a file share.
// Invariant: it never goes back. It is the clock of the process, but not less than the time that
// some process wrote down, plus what has passed since: a process with a clock that is behind can
// neither give out a lease that is over for the others nor end one too late.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string>

#include <coffer/base/clock.h>

namespace coffer::sql {

// Of one connection.
class SqliteClock {
 public:
  // `clock`: of a test; null takes the system's.
  explicit SqliteClock(const Clock* clock);
  ~SqliteClock() { forget_statement(); }
  SqliteClock(const SqliteClock&) = delete;
  SqliteClock& operator=(const SqliteClock&) = delete;

  // Before the connection is closed.
  void forget_statement();
  // Of one statement. Cost: a look-up.
  std::int64_t now_ms(sqlite3* db);
  // At the beginning of a transaction that writes: writes the time down, at most once a second.
  // SQLite's code.
  int advance(sqlite3* db);

 private:
  struct Kept {
    std::int64_t now_ms = 0;
    std::string boot;
    std::int64_t steady_ms = 0;
  };
  // Nothing where there is no such table or row.
  std::optional<Kept> read(sqlite3* db);
  std::int64_t now_after(const std::optional<Kept>& kept) const;

  const Clock& clock_;
  const std::string boot_;  // steady times of one boot can be compared
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace coffer::sql
