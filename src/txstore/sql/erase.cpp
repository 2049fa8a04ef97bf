#include "base/result.h"
#include "sql/connection.h"
#include "txstore/sql/backend.h"

namespace coffer::txstore {

Result<> erase(sql::Database& database) {
  // PostgreSQL has the tables in a schema of their own.
  const std::string schema = database.dialect() == sql::Dialect::kPostgres ? "txstore." : "";
  return database.run_transaction([&](sql::Transaction& transaction) -> Result<> {
    // First the tip: whoever works on the store holds its row, and what that one stores goes too.
    (void)TRY(transaction.execute(
        fmt::format("UPDATE {}txstore_tip SET position = $1, final_height = -1, first_block = NULL",
                    schema),
        {ByteView()}));
    for (const char* table : {"transactions", "tx_bodies", "inputs", "outputs", "block_ids",
                              "txstore_blocks", "txstore_counts"})
      (void)TRY(transaction.execute(fmt::format("DELETE FROM {}{}", schema, table)));
    (void)TRY(transaction.execute(
        fmt::format("INSERT INTO {}txstore_counts (only_row) VALUES (1)", schema)));
    return {};
  });
}

}  // namespace coffer::txstore
