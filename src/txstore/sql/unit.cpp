#include "txstore/sql/unit.h"

#include "base/result.h"
#include "txstore/sql/rows.h"

namespace coffer::txstore {

Result<std::vector<DueEntry>> read_heights(sql::Reader& sql, std::string_view text,
                                           sql::Params params) {
  sql::Rows rows = TRY(sql.query(text, params));
  std::vector<DueEntry> list;
  while (TRY(rows.next())) {
    DueEntry& entry = list.emplace_back();
    entry.height = TRY(rows.get<std::uint64_t>(0));
    entry.id = TRY(rows.get<Hash256>(1));
  }
  return list;
}

Result<std::vector<DueEntry>> read_due(sql::Reader& sql, const Statements& statements,
                                       std::uint64_t up_to, const std::optional<DueEntry>& after,
                                       std::size_t limit) {
  const std::int64_t height = after ? sql_height(after->height) : -1;
  const Hash256 id = after ? after->id : Hash256{};
  return read_heights(sql, statements.due, {sql_height(up_to), height, id, sql_height(limit)});
}

Result<> SqlUnit::begin(Hold hold) {
  tip_ = TRY(read_tip(
      sql_, hold == Hold::kTip ? statements_.hold_tip_exclusive : statements_.hold_tip_shared));
  return {};
}

Result<> SqlUnit::load(std::span<Record* const> records) {
  TRY(loader_.load(records, RecordLoader::Lock::kForUpdate));
  for (const Record* record : records) {
    if (!record->present) continue;
    Loaded& loaded = loaded_[record->head.id];
    loaded.blocks = record->head.blocks;
    loaded.pages.resize(record->pages.size());
    if (record->pages.size() == 1) loaded.pages.front() = record->pages.front().entries;
  }
  return {};
}

Result<> SqlUnit::load_pages(std::span<const PageRef> pages) {
  TRY(loader_.load_pages(pages));
  for (const PageRef& page : pages)
    loaded_[page.record->head.id].pages.at(page.page) = page.record->pages[page.page].entries;
  return {};
}

Result<> SqlUnit::load_inputs(std::span<Record* const> records) {
  return loader_.load_inputs(records);
}

Result<std::vector<DueEntry>> SqlUnit::due(std::uint64_t up_to, std::optional<DueEntry> after,
                                           std::size_t limit) {
  return read_due(sql_, statements_, up_to, after, limit);
}

Result<std::optional<BlockUndo>> SqlUnit::block(std::uint64_t height) {
  sql::Rows rows = TRY(sql_.query(statements_.block, {sql_height(height)}));
  if (!TRY(rows.next())) return std::nullopt;
  BlockUndo block;
  block.position = TRY(read_position(rows, 0));
  block.undo = TRY(rows.get<Bytes>(1));
  return block;
}

Result<> SqlUnit::load_marks(std::span<const Hash256> ids, Marks& found) {
  return query_list(sql_, statements_.marks, ids, [&](const sql::Rows& rows) -> Result<> {
    found[TRY(rows.get<Hash256>(0))] = TRY(read_mark(rows, 1));
    return {};
  });
}

Result<> SqlUnit::save(Changes changes) {
  if (TRY(save_changes(sql_, statements_, changes, loaded_))) return {};
  lost_race_ = true;
  Error error = make_error(Code::kUnavailable,
                           "another operation has stored one of these transactions meanwhile");
  error.retryable = true;
  return fail(std::move(error));
}

}  // namespace coffer::txstore
