// Reads records, the same for units and views.
#pragma once

#include "txstore/backend.h"
#include "txstore/sql/statements.h"

namespace coffer::txstore {

// Used by one thread. What it came from must outlive it. Errors also: kCorrupt where rows are
// missing.
class RecordLoader {
 public:
  RecordLoader(sql::Reader& sql, const Statements& statements)
      : sql_(sql), statements_(statements) {}

  enum class Lock : std::uint8_t { kNone, kForUpdate };
  // As Unit::load(), of those whose ids are in the heads. Cost: four statements on PostgreSQL.
  Result<> load(std::span<Record* const> records, Lock lock);
  Result<> load_pages(std::span<const PageRef> pages);
  Result<> load_inputs(std::span<Record* const> records);
  Result<TxBody> body(const Hash256& id);

 private:
  Result<> load_block_ids(std::span<Record* const> records);
  Result<> load_only_pages(std::span<Record* const> records);

  sql::Reader& sql_;
  const Statements& statements_;
};

// Errors: kCorrupt if its row is missing.
Result<Tip> read_tip(sql::Reader& sql, std::string_view text);

}  // namespace coffer::txstore
