// The whole store: views beside a writer, erasing, damage, large commits.
#include <thread>

#include "txstore/rocksdb/changes.h"
#include "txstore/rocksdb/test_backend.h"

namespace coffer::txstore::rocks_test {
namespace {

TEST_F(RocksBackendTest, PrunedPairsAndMarks) {
  const PrunedRef first{random_hash(rng_), random_hash(rng_)};
  const PrunedRef second{first.child, random_hash(rng_)};
  const PrunedRef both{random_hash(rng_), random_hash(rng_)};
  Changes changes;
  changes.pruned = {first, second, first, both};
  changes.unpruned = {both};
  Mark mark;
  mark.locked = true;
  mark.frozen = {4};
  changes.marks = {{first.child, mark}};
  changes.durable = true;
  ASSERT_TRUE(save(std::move(changes)));
  const auto is_pruned = [&](const Hash256& id) {
    bool found = false;
    EXPECT_TRUE(backend_->read([&](View& view) -> Result<> {
      found = TRY(view.is_pruned(id));
      return {};
    }));
    return found;
  };
  EXPECT_TRUE(is_pruned(first.child));
  EXPECT_FALSE(is_pruned(first.parent));
  EXPECT_FALSE(is_pruned(both.child));
  EXPECT_EQ(keys_in("tx_pruned"), 2u);
  const auto loaded_marks = [&] {
    Marks found;
    EXPECT_TRUE(backend_->run(Hold::kRecords, [&](Unit& unit) {
      return unit.load_marks(std::array{first.child, first.parent}, found);
    }));
    return found;
  };
  EXPECT_EQ(loaded_marks().size(), 1u);
  EXPECT_EQ(loaded_marks()[first.child].frozen, mark.frozen);
  reopen();
  EXPECT_EQ(loaded_marks()[first.child].frozen, mark.frozen);
  Changes back;
  back.unpruned = {first, second};
  back.marks = {{first.child, Mark{}}};
  ASSERT_TRUE(save(std::move(back)));
  EXPECT_FALSE(is_pruned(first.child));
  EXPECT_EQ(keys_in("tx_marks"), 0u);
  EXPECT_TRUE(loaded_marks().empty());
}

TEST_F(RocksBackendTest, ViewKeepsItsMomentBesideAWriter) {
  Record record = record_of(2);
  Changes changes;
  changes.records = {&record};
  changes.counts.records = 1;
  ASSERT_TRUE(save(std::move(changes)));
  EXPECT_TRUE(backend_->read([&](View& view) -> Result<> {
    Record gone = load(record.head.id).value();
    gone.present = false;
    Changes erased;
    erased.records = {&gone};
    erased.counts.records = -1;
    erased.tip.emplace().position = position_at(1, rng_);
    std::jthread([&] { EXPECT_TRUE(save(std::move(erased))); }).join();
    EXPECT_TRUE(view.tip().position.at_origin);
    EXPECT_EQ(TRY(view.counts()).records, 1);
    Record seen;
    seen.head.id = record.head.id;
    Record* const one[] = {&seen};
    TRY(view.load(one));
    EXPECT_TRUE(seen.present);
    expect_same_state(record, seen);
    return {};
  }));
  EXPECT_FALSE(load(record.head.id).value().present);
}

TEST_F(RocksBackendTest, ReadOnlyDatabaseBesideAWriter) {
  Record record = record_of(40);
  ASSERT_TRUE(save(record));
  const auto reader = open_database(true);
  const auto view_only = open_rocksdb(*reader, network_, true).value();
  Record more = record_of(1);
  ASSERT_TRUE(save(more));
  std::size_t seen = 0;
  EXPECT_TRUE(view_only->read([&](View& view) {
    return view.for_each({}, [&](const Record& each) -> Result<bool> {
      expect_same_state(record, each);
      ++seen;
      return true;
    });
  }));
  EXPECT_EQ(seen, 1u);
  const auto refused = view_only->run(Hold::kRecords, [](Unit&) -> Result<> { return {}; });
  EXPECT_EQ(refused.error().code, Code::kConflict);
}

TEST_F(RocksBackendTest, MissingStoreIsNotFoundForReaders) {
  backend_.reset();
  ASSERT_TRUE(erase(*db_));
  EXPECT_EQ(open_rocksdb(*db_, network_, true).error().code, Code::kNotFound);
  EXPECT_TRUE(open_rocksdb(*db_, network_, false));
  EXPECT_TRUE(open_rocksdb(*db_, network_, true));
  overwrite("tx_meta", as_bytes(kFormatKey), Bytes{kRecordFormat + 1});
  EXPECT_EQ(open_rocksdb(*db_, network_, false).error().code, Code::kConflict);
}

TEST_F(RocksBackendTest, EraseEmptiesAllButMarks) {
  Record record = random_record(rng_, 40);
  record.head.due_at = record.head.unmined_since = ~std::uint64_t{0};
  Changes changes;
  changes.records = {&record};
  changes.pruned = {{record.head.id, record.head.id}};
  Mark mark;
  mark.preserve_until = 9;
  changes.marks = {{record.head.id, mark}};
  changes.blocks = {{position_at(4, rng_), {}}};
  changes.tip.emplace().position = position_at(4, rng_);
  ASSERT_TRUE(save(std::move(changes)));
  for (const kv::ColumnOptions& column : columns())
    EXPECT_GT(keys_in(column.name.c_str()), 0u) << column.name;
  backend_.reset();
  ASSERT_TRUE(erase(*db_));
  for (const kv::ColumnOptions& column : columns())
    EXPECT_EQ(keys_in(column.name.c_str()), column.name == "tx_marks" ? 1u : 0u) << column.name;
}

TEST_F(RocksBackendTest, WalksAreInOrderAndGoOnAfterAKey) {
  std::vector<Record> records;
  Changes changes;
  for (std::uint64_t i = 0; i < 20; ++i) {
    records.push_back(record_of(static_cast<std::uint32_t>(i)));
    records.back().head.unmined_since = 20 - i;
  }
  for (Record& record : records) changes.records.push_back(&record);
  ASSERT_TRUE(save(std::move(changes)));
  EXPECT_TRUE(backend_->read([&](View& view) -> Result<> {
    std::vector<Hash256> ids;
    const auto take = [&](const Record& record) -> Result<bool> {
      ids.push_back(record.head.id);
      return ids.size() % 7 != 0;
    };
    TRY(view.for_each({}, take));
    EXPECT_EQ(ids.size(), 7u);
    TRY(view.for_each(ids.back(), take));
    TRY(view.for_each(ids.back(), take));
    EXPECT_EQ(ids.size(), 20u);
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    const auto first = TRY(view.unmined({}, 12));
    const auto rest = TRY(view.unmined(first.back(), 100));
    EXPECT_EQ(first.size() + rest.size(), 20u);
    EXPECT_EQ(first.front().height, 1u);
    EXPECT_EQ(rest.back().height, 20u);
    EXPECT_TRUE(TRY(view.due({}, 10)).empty());
    return {};
  }));
}

TEST_F(RocksBackendTest, DamagedValuesAreCorrupt) {
  Record record = record_of(20);
  while (record.input_count <= kInlineInputs) record = record_of(20);
  ASSERT_TRUE(save(record));
  const Hash256& id = record.head.id;
  const auto expect_corrupt = [&](const Result<Record>& read) {
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::kCorrupt);
    EXPECT_NE(read.error().message.find(chain::display(network_.family, id)), std::string::npos)
        << read.error().message;
  };
  Bytes buffer;
  overwrite("tx_body", id.view(), Bytes{kRecordFormat, 0, 9});
  expect_corrupt(load(id));
  overwrite("tx_body", id.view(), encode_body_value(*record.new_body, buffer));
  ASSERT_TRUE(load(id));
  overwrite("tx_page", page_key(id, 1), Bytes(3, 1));
  expect_corrupt(load(id));
  overwrite("tx_state", id.view(), {});
  expect_corrupt(load(id));
  EXPECT_TRUE(backend_->read([&](View& view) -> Result<> {
    EXPECT_EQ(view.for_each({}, [](const Record&) -> Result<bool> { return true; }).error().code,
              Code::kCorrupt);
    return {};
  }));
  overwrite("tx_due", as_bytes("short"), {});
  const auto due = backend_->run(Hold::kRecords, [](Unit& unit) -> Result<> {
    TRY(unit.due(~std::uint64_t{0}, {}, 1));
    return {};
  });
  EXPECT_EQ(due.error().code, Code::kCorrupt);
  overwrite("tx_meta", as_bytes(kTipKey), Bytes(2, 1));
  EXPECT_EQ(open_rocksdb(*db_, network_, false).error().code, Code::kCorrupt);
}

TEST_F(RocksBackendTest, SortedFilesWriteWhatABatchWrites) {
  std::vector<Record> records;
  Changes changes;
  records.reserve(kChangesForFiles / 2 + 1);
  for (std::uint32_t i = 0; i < kChangesForFiles / 2; ++i)
    records.push_back(random_record(rng_, static_cast<std::uint32_t>(rng_.below(3))));
  records.push_back(random_record(rng_, 1'000));
  for (Record& record : records) changes.records.push_back(&record);
  changes.counts.records = static_cast<std::int64_t>(records.size());
  changes.tip.emplace().position = position_at(9, rng_);
  changes.blocks = {{position_at(9, rng_), Bytes(9, 9)}, {position_at(8, rng_), {}}};
  changes.dropped_blocks = {7, 8};
  changes.pruned = {{random_hash(rng_), random_hash(rng_)}, {random_hash(rng_), {}}};
  Mark mark;
  mark.locked = true;
  changes.marks = {{records[0].head.id, mark}};
  const IoCounts before = io();
  ASSERT_TRUE(save(std::move(changes)));
  EXPECT_GE(io().puts - before.puts, kChangesForFiles);
  for (std::size_t i = 0; i < records.size(); i += 997) expect_stored(records[i]);
  expect_stored(records.back());
  EXPECT_EQ(keys_in("tx_state"), records.size());
  EXPECT_EQ(keys_in("tx_block"), 2u);
  EXPECT_EQ(keys_in("tx_pruned"), 2u);
  EXPECT_EQ(keys_in("tx_marks"), 1u);

  std::vector<Record> gone;
  for (const Record& record : records) {
    gone.push_back(load(record.head.id).value());
    gone.back().present = false;
  }
  Changes erased;
  for (Record& record : gone) erased.records.push_back(&record);
  ASSERT_TRUE(save(std::move(erased)));
  for (const char* column : {"tx_state", "tx_page", "tx_body", "tx_due", "tx_unmined"})
    EXPECT_EQ(keys_in(column), 0u) << column;
}

}  // namespace
}  // namespace coffer::txstore::rocks_test
