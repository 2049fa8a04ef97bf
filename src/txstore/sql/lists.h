// One statement for a list of rows or keys. On PostgreSQL a list is a parameter, so that the number
// of round trips does not grow with it; SQLite is asked row by row, which costs no round trips.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sql/connection.h"
#include "sql/postgres_array.h"

namespace coffer::txstore {

struct Column {
  std::string_view name;
  sql::PostgresArray::Element type;
};

// Writes rows into a table. Between add() and finish() nothing else may use the transaction.
class RowWriter {
 public:
  // `conflict`: an ON CONFLICT clause, or nothing. `table` with its schema.
  RowWriter(sql::Transaction& sql, std::string_view table, std::span<const Column> columns,
            std::string_view conflict = "");
  Result<> add(sql::Params row);
  // How many rows were written. Without rows there is no statement.
  Result<std::int64_t> finish();

 private:
  Result<> flush();

  sql::Transaction& sql_;
  std::string text_;
  std::vector<sql::PostgresArray> lists_;  // PostgreSQL: one a column
  std::optional<sql::Batch> batch_;        // SQLite
  std::size_t bytes_ = 0;                  // in lists_, about
  std::int64_t written_ = 0;
};

// `… ON CONFLICT (the first `keys` columns) DO UPDATE SET` all others.
std::string overwrite_clause(std::span<const Column> columns, std::size_t keys);

// How a statement compares a column with $1 of the functions below: " = ANY($1::bytea[])" or
// " = $1".
std::string_view in_list(sql::Dialect dialect);

// The rows of a query over the hashes; in the order of the query within a hash, and over all of
// them on PostgreSQL.
Result<> query_list(sql::Reader& sql, std::string_view text, std::span<const Hash256> hashes,
                    const std::function<Result<>(const sql::Rows&)>& each);
// Without hashes there is no statement.
Result<> execute_list(sql::Transaction& sql, std::string_view text,
                      std::span<const Hash256> hashes);

}  // namespace coffer::txstore
