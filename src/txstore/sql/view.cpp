#include "base/result.h"
#include "bus/position_codec.h"
#include "txstore/sql/rows.h"
#include "txstore/sql/unit.h"

namespace coffer::txstore {
namespace {

constexpr std::size_t kRecordsAtOnce = 500;

}  // namespace

Result<> SqlView::begin() {
  tip_ = TRY(read_tip(sql_, statements_.tip));
  return {};
}

Result<Counts> SqlView::counts() {
  sql::Rows rows = TRY(sql_.query(statements_.counts));
  if (!TRY(rows.next())) return fail(Code::kCorrupt, "txstore_counts has no row");
  return read_counts(rows);
}

Result<> SqlView::load(std::span<Record* const> records) {
  return loader_.load(records, RecordLoader::Lock::kNone);
}

Result<> SqlView::load_pages(std::span<const PageRef> pages) {
  return loader_.load_pages(pages);
}

// An entry may be marked final while the spender is still stored.
Result<bool> SqlView::is_pruned(const Hash256& id) {
  Bytes first(id.begin(), id.end()), last = first;
  append_be32(first, 0);
  append_be32(last, 0xffffffff);
  if (!TRY(sql_.value<std::int64_t>(statements_.final_of, {first, last}))) return false;
  bool is_stored = false;
  const auto take = [&](const sql::Rows&) -> Result<> {
    is_stored = true;
    return {};
  };
  TRY(query_list(sql_, statements_.known, {&id, 1}, take));
  return !is_stored;
}

Result<> SqlView::for_each(std::optional<Hash256> after,
                           const std::function<Result<bool>(const Record&)>& each) {
  Bytes last;
  if (after) last.assign(after->begin(), after->end());
  for (;;) {
    std::vector<Record> records;
    {
      sql::Rows rows = TRY(sql_.query(statements_.ids_after, {last, kRecordsAtOnce}));
      while (TRY(rows.next())) records.emplace_back().head.id = TRY(rows.get<Hash256>(0));
    }
    if (records.empty()) return {};
    std::vector<Record*> list;
    list.reserve(records.size());
    for (Record& record : records) list.push_back(&record);
    TRY(load(list));
    for (const Record& record : records)
      if (!TRY(each(record))) return {};
    const Hash256& id = records.back().head.id;
    last.assign(id.begin(), id.end());
  }
}

Result<std::vector<DueEntry>> SqlView::unmined(std::optional<DueEntry> after, std::size_t limit) {
  const std::int64_t height = after ? sql_height(after->height) : -1;
  const Hash256 id = after ? after->id : Hash256{};
  return read_heights(sql_, statements_.unmined, {height, id, sql_height(limit)});
}

Result<std::vector<DueEntry>> SqlView::due(std::optional<DueEntry> after, std::size_t limit) {
  return read_due(sql_, statements_, std::numeric_limits<std::uint64_t>::max(), after, limit);
}

Result<std::optional<bus::Position>> SqlView::block_below(std::uint64_t height) {
  const auto position = TRY(sql_.value<Bytes>(statements_.block_below, {sql_height(height)}));
  if (!position) return std::nullopt;
  return TRY(bus::decode_position(*position));
}

// By the index of final entries, a portion at a time; then which of the spenders are stored.
Result<> SqlView::for_each_pruned(const std::function<Result<bool>(const PrunedRef&)>& each) {
  Bytes last;
  PrunedRef before;  // two inputs of one child may spend outputs of one parent
  std::vector<Hash256> parents;
  for (;;) {
    std::vector<PrunedRef> found;
    {
      sql::Rows rows = TRY(sql_.query(statements_.final_after, {last}));
      while (TRY(rows.next())) {
        last = TRY(rows.get<Bytes>(0));
        found.push_back({spender_in(last), TRY(rows.get<Hash256>(1))});
      }
    }
    if (found.empty()) return {};
    std::vector<Hash256> children;
    for (const PrunedRef& one : found)
      if (children.empty() || children.back() != one.child) children.push_back(one.child);
    std::unordered_set<Hash256, HashOfHash> stored;
    const auto take = [&](const sql::Rows& rows) -> Result<> {
      stored.insert(TRY(rows.get<Hash256>(0)));
      return {};
    };
    TRY(query_list(sql_, statements_.known, children, take));
    for (const PrunedRef& one : found) {
      if (one.child != before.child) parents.clear();
      before = one;
      if (stored.contains(one.child)) continue;
      if (std::find(parents.begin(), parents.end(), one.parent) != parents.end()) continue;
      parents.push_back(one.parent);
      if (!TRY(each(one))) return {};
    }
  }
}

Result<> SqlView::for_each_block(const std::function<Result<bool>(const BlockUndo&)>& each) {
  for (std::int64_t last = -1;;) {
    std::vector<BlockUndo> blocks;
    {
      sql::Rows rows = TRY(sql_.query(statements_.blocks_after, {last}));
      while (TRY(rows.next())) {
        last = TRY(rows.get<std::int64_t>(0));
        BlockUndo& block = blocks.emplace_back();
        block.position = TRY(read_position(rows, 1));
        block.undo = TRY(rows.get<Bytes>(2));
      }
    }
    if (blocks.empty()) return {};
    for (const BlockUndo& block : blocks)
      if (!TRY(each(block))) return {};
  }
}

}  // namespace coffer::txstore
