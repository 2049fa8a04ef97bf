// Asks whether a database still answers, beside those who use it: with a connection of its own and
// short waits, so that a busy pool and a hung server are told apart.
#pragma once

#include <memory>

#include <coffer/sql/database.h>

namespace coffer::sql {

// Not thread-safe.
class Probe {
 public:
  // Of the database that these options opened; connects to nothing yet.
  explicit Probe(DatabaseOptions options);
  ~Probe();

  // Takes a few seconds at most. On PostgreSQL the connection is kept for the next time; on SQLite
  // the file is opened anew, because an open one is there also after its name has gone.
  // Errors: those of Database::open and of statements.
  Result<> ask();

 private:
  DatabaseOptions options_;
  std::unique_ptr<Database> database_;
};

}  // namespace coffer::sql
