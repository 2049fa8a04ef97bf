// The texts of the store's statements, in the words of one engine.
// No statement joins rows of different transactions, and whatever names a list of hashes has them
// as one parameter on PostgreSQL (sql/lists.h), so that the tables can be distributed by hash.
#pragma once

#include <string>

#include "sql/connection.h"

namespace coffer::txstore {

struct Statements {
  explicit Statements(sql::Dialect dialect);

  // The name of a table, with its schema.
  std::string table(std::string_view name) const { return prefix + std::string(name); }

  sql::Dialect dialect;
  std::string prefix;
  std::string tip, hold_tip_exclusive, hold_tip_shared, set_tip, counts, add_counts;
  // By a list of hashes.
  std::string heads, heads_locked, inputs, block_ids, outputs, known;
  std::string delete_heads, delete_bodies, delete_inputs, delete_outputs, delete_block_ids,
      delete_marks;
  // By a list of hashes and first indexes on PostgreSQL, by one of both on SQLite.
  std::string pages;
  std::string body, due, unmined, ids_after, marks;
  std::string block, block_below, blocks_after, delete_block;
  std::string final_of, final_after, disk_bytes;
};

}  // namespace coffer::txstore
