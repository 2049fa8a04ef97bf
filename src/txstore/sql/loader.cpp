#include "txstore/sql/loader.h"

#include "base/result.h"
#include "txstore/sql/rows.h"

namespace coffer::txstore {
namespace {

using RecordsById = std::unordered_map<Hash256, Record*, HashOfHash>;

RecordsById by_id(std::span<Record* const> records) {
  RecordsById map;
  map.reserve(records.size());
  for (Record* record : records) map.emplace(record->head.id, record);
  return map;
}

std::vector<Hash256> ids_of(std::span<Record* const> records) {
  std::vector<Hash256> ids;
  ids.reserve(records.size());
  for (const Record* record : records) ids.push_back(record->head.id);
  return ids;
}

Result<Record*> record_of(const RecordsById& map, const sql::Rows& rows) {
  const Hash256 id = TRY(rows.get<Hash256>(0));
  const auto found = map.find(id);
  if (found == map.end()) return fail(Code::kCorrupt, "the database found another hash than asked");
  return found->second;
}

std::unexpected<Error> rows_missing(const Record& record, std::string_view what) {
  return fail(Code::kCorrupt, "the stored transaction {} lacks {}", record.head.id.hex(), what);
}

std::uint32_t entries_of_page(const Record& record, std::uint32_t page) {
  return std::min(kPageEntries, record.head.outputs - page * kPageEntries);
}

// Nothing of an earlier attempt may stay.
void reset(Record& record) {
  const Hash256 id = record.head.id;
  record = Record();
  record.head.id = id;
}

}  // namespace

Result<Tip> read_tip(sql::Reader& sql, std::string_view text) {
  sql::Rows rows = TRY(sql.query(text));
  if (!TRY(rows.next())) return fail(Code::kCorrupt, "txstore_tip has no row");
  Tip tip;
  tip.position = TRY(read_position(rows, 0));
  tip.final_height = TRY(rows.get<std::int64_t>(1));
  if (!rows.is_null(2)) tip.first_block = TRY(read_position(rows, 2));
  return tip;
}

Result<> RecordLoader::load(std::span<Record* const> records, Lock lock) {
  for (Record* record : records) reset(*record);
  const RecordsById map = by_id(records);
  const std::string& text = lock == Lock::kForUpdate ? statements_.heads_locked : statements_.heads;
  const auto take = [&](const sql::Rows& rows) -> Result<> {
    Record& record = *TRY(record_of(map, rows));
    TRY(read_head(rows, record));
    record.stored = record.present = true;
    record.stored_due_at = record.head.due_at;
    record.stored_unmined_since = record.head.unmined_since;
    record.pages.resize(Record::pages_of(record.head.outputs));
    return {};
  };
  TRY(query_list(sql_, text, ids_of(records), take));
  std::vector<Record*> found, with_inputs, with_one_page;
  for (Record* record : records) {
    if (!record->present) continue;
    found.push_back(record);
    if (record->input_count > 0 && record->input_count <= kInlineInputs)
      with_inputs.push_back(record);
    if (record->pages.size() == 1) with_one_page.push_back(record);
  }
  TRY(load_block_ids(found));
  TRY(load_inputs(with_inputs));
  return load_only_pages(with_one_page);
}

Result<> RecordLoader::load_block_ids(std::span<Record* const> records) {
  const RecordsById map = by_id(records);
  const auto take = [&](const sql::Rows& rows) -> Result<> {
    MinedIn block;
    block.block.height = TRY(rows.get<std::uint64_t>(1));
    block.block.id = static_cast<std::uint64_t>(TRY(rows.get<std::int64_t>(2)));
    block.on_longest_chain = TRY(rows.get<bool>(3));
    TRY(record_of(map, rows))->head.blocks.push_back(block);
    return {};
  };
  TRY(query_list(sql_, statements_.block_ids, ids_of(records), take));
  for (Record* record : records) {
    StoredTx& head = record->head;
    if (head.state != State::kConflicting && (head.genesis || head.on_longest_chain()))
      head.state = State::kMined;
  }
  return {};
}

Result<> RecordLoader::load_inputs(std::span<Record* const> records) {
  const RecordsById map = by_id(records);
  for (Record* record : records) record->inputs.clear();
  const auto take = [&](const sql::Rows& rows) -> Result<> {
    Record& record = *TRY(record_of(map, rows));
    chain::Outpoint& outpoint = record.inputs.emplace_back();
    outpoint.tx = TRY(rows.get<Hash256>(2));
    outpoint.index = TRY(rows.get<std::uint32_t>(3));
    return {};
  };
  TRY(query_list(sql_, statements_.inputs, ids_of(records), take));
  for (const Record* record : records)
    if (!record->has_inputs()) return rows_missing(*record, "inputs");
  return {};
}

Result<> RecordLoader::load_only_pages(std::span<Record* const> records) {
  const RecordsById map = by_id(records);
  const auto take = [&](const sql::Rows& rows) -> Result<> {
    Record& record = *TRY(record_of(map, rows));
    record.pages.front().entries.push_back(TRY(read_output(rows)));
    return {};
  };
  TRY(query_list(sql_, statements_.outputs, ids_of(records), take));
  for (const Record* record : records)
    if (record->pages.front().entries.size() != record->head.outputs)
      return rows_missing(*record, "outputs");
  return {};
}

Result<> RecordLoader::load_pages(std::span<const PageRef> pages) {
  if (pages.empty()) return {};
  RecordsById map;
  for (const PageRef& page : pages) {
    map.emplace(page.record->head.id, page.record);
    page.record->pages.at(page.page).entries.clear();
  }
  const auto read = [&](sql::Params params) -> Result<> {
    sql::Rows rows = TRY(sql_.query(statements_.pages, params));
    while (TRY(rows.next())) {
      Record& record = *TRY(record_of(map, rows));
      const auto index = TRY(rows.get<std::uint32_t>(1));
      if (index >= record.head.outputs) return rows_missing(record, "the count of its outputs");
      record.pages[Record::page_of(index)].entries.push_back(TRY(read_output(rows)));
    }
    return {};
  };
  const auto first_of = [](const PageRef& page) {
    return static_cast<std::int64_t>(page.page) * kPageEntries;
  };
  if (statements_.dialect == sql::Dialect::kPostgres) {
    sql::PostgresArray hashes(kBytea), firsts(kInt8);
    for (const PageRef& page : pages) {
      hashes.add(page.record->head.id);
      firsts.add(first_of(page));
    }
    TRY(read({hashes.view(), firsts.view()}));
  } else {
    for (const PageRef& page : pages) TRY(read({page.record->head.id, first_of(page)}));
  }
  for (const PageRef& page : pages)
    if (page.record->pages[page.page].entries.size() != entries_of_page(*page.record, page.page))
      return rows_missing(*page.record, "outputs");
  return {};
}

Result<TxBody> RecordLoader::body(const Hash256& id) {
  TxBody body;
  {
    sql::Rows rows = TRY(sql_.query(statements_.body, {id}));
    if (!TRY(rows.next())) return fail(Code::kNotFound, "transaction {} is not stored", id.hex());
    if (const auto raw = TRY(rows.get<std::optional<ByteView>>(1)))
      body.raw.assign(raw->begin(), raw->end());
    body.fee = TRY(rows.get<std::optional<Amount>>(2));
  }
  const auto take = [&](const sql::Rows& rows) -> Result<> {
    StoredInput& input = body.inputs.emplace_back();
    input.outpoint.tx = TRY(rows.get<Hash256>(2));
    input.outpoint.index = TRY(rows.get<std::uint32_t>(3));
    input.amount = TRY(rows.get<std::optional<Amount>>(4));
    return {};
  };
  TRY(query_list(sql_, statements_.inputs, {&id, 1}, take));
  return body;
}

}  // namespace coffer::txstore
