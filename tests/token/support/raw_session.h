// A connection without Coffer, as a person with psql or sqlite3 has it: the database's own library
// and nothing between.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coffer::token::test {

struct RawAnswer {
  // Empty: no error. SQLSTATE or TKnnn; on SQLite also unique, check, notnull, foreign, other.
  std::string code;
  std::string message;
  std::vector<std::string> rows;  // fields joined by |
};

class RawSession {
 public:
  virtual ~RawSession() = default;
  // All statements of the script, also after one that failed; the first error counts. Nothing if
  // one of them waits for a lock of another session: then finish() waits for its end.
  virtual std::optional<RawAnswer> run(const std::string& script) = 0;
  virtual RawAnswer finish() = 0;
};

std::unique_ptr<RawSession> open_raw_sqlite(const std::string& file);
// `location`: libpq's. Waits for locks are noticed through a second connection.
std::unique_ptr<RawSession> open_raw_postgres(const std::string& location);

}  // namespace coffer::token::test
