#include "txstore/sql/saver.h"

#include "base/check.h"
#include "base/result.h"
#include "bus/position_codec.h"
#include "txstore/sql/rows.h"

namespace coffer::txstore {
namespace {

class ChangeWriter {
 public:
  ChangeWriter(sql::Transaction& sql, const Statements& statements, const LoadedRecords& loaded)
      : sql_(sql), statements_(statements), loaded_(loaded) {}

  // False if another unit was faster.
  Result<bool> write_records(std::span<Record* const> records) {
    sort(records);
    if (!TRY(insert_heads())) return false;
    TRY(update_heads());
    TRY(delete_rows());
    TRY(write_bodies());
    TRY(write_inputs());
    TRY(insert_outputs());
    TRY(update_outputs());
    TRY(write_block_ids());
    return true;
  }
  Result<> write_marks(const std::vector<std::pair<Hash256, Mark>>& marks);
  Result<> write_blocks(const Changes& changes);

 private:
  // Which rows go, which come.
  void sort(std::span<Record* const> records);
  void sort_block_ids(const Record& record);
  Result<bool> insert_heads();
  Result<> update_heads();
  Result<> delete_rows();
  Result<> write_bodies();
  Result<> write_inputs();
  Result<> insert_outputs();
  Result<> update_outputs();
  Result<> write_block_ids();

  const Loaded* loaded(const Record& record) const {
    const auto found = loaded_.find(record.head.id);
    return found == loaded_.end() ? nullptr : &found->second;
  }
  RowWriter writer(std::string_view table, std::span<const Column> columns,
                   std::string_view conflict = "") {
    return RowWriter(sql_, statements_.table(table), columns, conflict);
  }

  sql::Transaction& sql_;
  const Statements& statements_;
  const LoadedRecords& loaded_;

  std::vector<const Record*> created_, changed_, with_body_, with_new_outputs_, with_old_outputs_;
  std::vector<std::pair<Hash256, MinedIn>> block_ids_;
  std::vector<Hash256> erased_, drop_bodies_, drop_outputs_, drop_block_ids_;
};

void ChangeWriter::sort(std::span<Record* const> records) {
  for (const Record* record : records) {
    const Hash256& id = record->head.id;
    if (!record->present) {
      if (!record->stored) continue;
      for (auto* list : {&erased_, &drop_bodies_, &drop_outputs_, &drop_block_ids_})
        list->push_back(id);
      continue;
    }
    if (!record->stored)
      created_.push_back(record);
    else if (record->dirty || record->replaced || record->new_body)
      changed_.push_back(record);
    if (record->new_body) {
      with_body_.push_back(record);
      if (record->stored) drop_bodies_.push_back(id);
    }
    if (!record->stored || record->replaced) {
      with_new_outputs_.push_back(record);
      if (record->stored) drop_outputs_.push_back(id);
    } else {
      with_old_outputs_.push_back(record);
    }
    if (!record->stored || record->dirty) sort_block_ids(*record);
  }
}

// A block that is forgotten is rare: then all of the record's are written anew.
void ChangeWriter::sort_block_ids(const Record& record) {
  const Loaded* const before = loaded(record);
  const std::span<const MinedIn> old =
      before != nullptr ? before->blocks : std::span<const MinedIn>();
  const std::vector<MinedIn>& now = record.head.blocks;
  const bool forgets = std::any_of(old.begin(), old.end(), [&](const MinedIn& block) {
    return std::ranges::find(now, block.block, &MinedIn::block) == now.end();
  });
  if (forgets) drop_block_ids_.push_back(record.head.id);
  for (const MinedIn& block : now)
    if (forgets || std::find(old.begin(), old.end(), block) == old.end())
      block_ids_.emplace_back(record.head.id, block);
}

Result<bool> ChangeWriter::insert_heads() {
  RowWriter rows = writer("transactions", kHeadColumns, "ON CONFLICT (hash) DO NOTHING");
  for (const Record* record : created_) TRY(add_head(rows, *record));
  return TRY(rows.finish()) == static_cast<std::int64_t>(created_.size());
}

// An upsert finds its rows by the key, whatever the planner knows of the table. The rows are there:
// the unit has locked them.
Result<> ChangeWriter::update_heads() {
  RowWriter rows = writer("transactions", kHeadColumns, overwrite_clause(kHeadColumns, 1));
  for (const Record* record : changed_) TRY(add_head(rows, *record));
  (void)TRY(rows.finish());
  return {};
}

Result<> ChangeWriter::delete_rows() {
  TRY(execute_list(sql_, statements_.delete_bodies, drop_bodies_));
  TRY(execute_list(sql_, statements_.delete_inputs, drop_bodies_));
  TRY(execute_list(sql_, statements_.delete_outputs, drop_outputs_));
  TRY(execute_list(sql_, statements_.delete_block_ids, drop_block_ids_));
  return execute_list(sql_, statements_.delete_heads, erased_);
}

Result<> ChangeWriter::write_bodies() {
  RowWriter rows = writer("tx_bodies", kBodyColumns);
  for (const Record* record : with_body_)
    TRY(rows.add({record->head.id, record->new_body->raw, record->new_body->fee}));
  (void)TRY(rows.finish());
  return {};
}

Result<> ChangeWriter::write_inputs() {
  RowWriter rows = writer("inputs", kInputColumns);
  for (const Record* record : with_body_) {
    std::int64_t index = 0;
    for (const StoredInput& input : record->new_body->inputs)
      TRY(rows.add(
          {record->head.id, index++, input.outpoint.tx, input.outpoint.index, input.amount}));
  }
  (void)TRY(rows.finish());
  return {};
}

Result<> ChangeWriter::insert_outputs() {
  RowWriter rows = writer("outputs", kOutputColumns);
  for (const Record* record : with_new_outputs_) {
    std::uint32_t index = 0;
    for (const Page& page : record->pages)
      for (const Entry& entry : page.entries)
        TRY(add_output(rows, record->head.id, index++, entry));
    CHECK(index == record->head.outputs);
  }
  (void)TRY(rows.finish());
  return {};
}

Result<> ChangeWriter::update_outputs() {
  RowWriter rows = writer("outputs", kOutputColumns, overwrite_clause(kOutputColumns, 2));
  for (const Record* record : with_old_outputs_) {
    const Loaded* const before = loaded(*record);
    for (std::uint32_t p = 0; p < record->pages.size(); ++p) {
      if (!record->pages[p].dirty) continue;
      const std::vector<Entry>& entries = record->pages[p].entries;
      const std::vector<Entry>* const old =
          before != nullptr && p < before->pages.size() ? &before->pages[p] : nullptr;
      for (std::uint32_t i = 0; i < entries.size(); ++i) {
        if (old != nullptr && i < old->size() && same_entry((*old)[i], entries[i])) continue;
        TRY(add_output(rows, record->head.id, p * kPageEntries + i, entries[i]));
      }
    }
  }
  (void)TRY(rows.finish());
  return {};
}

Result<> ChangeWriter::write_block_ids() {
  RowWriter rows = writer("block_ids", kBlockIdColumns, overwrite_clause(kBlockIdColumns, 3));
  for (const auto& [id, mined] : block_ids_)
    TRY(rows.add({id, mined.block.height, static_cast<std::int64_t>(mined.block.id),
                  mined.on_longest_chain}));
  (void)TRY(rows.finish());
  return {};
}

Result<> ChangeWriter::write_marks(const std::vector<std::pair<Hash256, Mark>>& marks) {
  std::vector<Hash256> gone;
  RowWriter rows = writer("marks", kMarkColumns, overwrite_clause(kMarkColumns, 1));
  for (const auto& [id, mark] : marks)
    if (mark.empty())
      gone.push_back(id);
    else
      TRY(add_mark(rows, id, mark));
  (void)TRY(rows.finish());
  return execute_list(sql_, statements_.delete_marks, gone);
}

Result<> ChangeWriter::write_blocks(const Changes& changes) {
  if (!changes.dropped_blocks.empty()) {
    sql::Batch batch = TRY(sql_.batch(statements_.delete_block));
    for (const std::uint64_t height : changes.dropped_blocks) TRY(batch.add({height}));
    (void)TRY(batch.finish());
  }
  RowWriter rows = writer("txstore_blocks", kUndoColumns, overwrite_clause(kUndoColumns, 1));
  for (const BlockUndo& block : changes.blocks)
    TRY(rows.add({block.position.ordinal, bus::encode_position(block.position), block.undo}));
  (void)TRY(rows.finish());
  return {};
}

}  // namespace

Result<bool> save_changes(sql::Transaction& sql, const Statements& statements,
                          const Changes& changes, const LoadedRecords& loaded) {
  ChangeWriter writer(sql, statements, loaded);
  if (!TRY(writer.write_records(changes.records))) return false;
  TRY(writer.write_marks(changes.marks));
  TRY(writer.write_blocks(changes));
  if (changes.tip) {
    const Tip& tip = *changes.tip;
    const Bytes first = tip.first_block ? bus::encode_position(*tip.first_block) : Bytes();
    (void)TRY(sql.execute(statements.set_tip,
                          {bus::encode_position(tip.position), tip.final_height,
                           tip.first_block ? sql::Param(first) : sql::Param(nullptr)}));
  }
  if (changes.counts == Counts()) return true;
  std::vector<sql::Param> values;
  for (const std::int64_t value : count_values(changes.counts)) values.emplace_back(value);
  (void)TRY(sql.execute(statements.add_counts, values));
  return true;
}

}  // namespace coffer::txstore
