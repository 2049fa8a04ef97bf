#include "txstore/rocksdb/test_backend.h"

namespace coffer::txstore::rocks_test {
namespace {

TEST_F(RocksBackendTest, RecordsRoundTrip) {
  for (const std::uint32_t outputs : {0u, 1u, 16u, 17u, 40u, 100'000u}) {
    SCOPED_TRACE(outputs);
    Record record = random_record(rng_, outputs);
    ASSERT_TRUE(save(record));
    expect_stored(record);
    reopen();
    expect_stored(record);
  }
  EXPECT_EQ(keys_in("tx_state"), 6u);
  EXPECT_EQ(keys_in("tx_body"), 6u);
  EXPECT_EQ(keys_in("tx_page"), 2u + 3u + 6'250u);
}

TEST_F(RocksBackendTest, UnknownIdIsNotPresent) {
  const auto record = load(random_hash(rng_));
  ASSERT_TRUE(record);
  EXPECT_FALSE(record->present || record->stored);
  EXPECT_TRUE(backend_->run(Hold::kRecords, [&](Unit& unit) -> Result<> {
    EXPECT_EQ(unit.body(random_hash(rng_)).error().code, Code::kNotFound);
    EXPECT_FALSE(TRY(unit.block(3)));
    Marks marks;
    TRY(unit.load_marks(std::array{random_hash(rng_)}, marks));
    EXPECT_TRUE(marks.empty());
    return {};
  }));
}

TEST_F(RocksBackendTest, ChangingOneOutputOfALargeOneIsCheap) {
  Record record = record_of(100'000);
  ASSERT_TRUE(save(record));
  reopen();
  const IoCounts before = io();
  Record changed;
  changed.head.id = record.head.id;
  ASSERT_TRUE(backend_->run(Hold::kRecords, [&](Unit& unit) -> Result<> {
    Record* const one[] = {&changed};
    TRY(unit.load(one));
    const PageRef page[] = {{&changed, Record::page_of(54'321)}};
    TRY(unit.load_pages(page));
    changed.entry(54'321).spent = true;
    changed.entry(54'321).spender_input = 9;
    changed.pages[page[0].page].dirty = true;
    ++changed.head.spent;
    changed.dirty = true;
    Changes changes;
    changes.records = {&changed};
    return unit.save(std::move(changes));
  }));
  const IoCounts after = io();
  EXPECT_EQ(after.reads - before.reads, 2u);
  EXPECT_EQ(after.seeks, before.seeks);
  EXPECT_EQ(after.puts - before.puts, 2u);
  EXPECT_EQ(after.deletes, before.deletes);
  EXPECT_LE(after.bytes_read - before.bytes_read, 2'048u);
  EXPECT_LE(after.bytes_written - before.bytes_written, 2'048u);
  const auto read = load(record.head.id);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->head.spent, record.head.spent + 1);
  expect_same_entry(read->pages[54'321 / 16].entries[54'321 % 16], changed.entry(54'321));
  expect_same_entry(read->pages[0].entries[3], record.entry(3));
}

TEST_F(RocksBackendTest, ChangedEntryOfASmallOneIsInItsState) {
  Record record = record_of(3);
  ASSERT_TRUE(save(record));
  record.stored = true;
  record.dirty = false;
  record.entry(2).frozen = !record.entry(2).frozen;
  record.pages[0].dirty = true;
  ASSERT_TRUE(save(record));
  expect_stored(record);
}

TEST_F(RocksBackendTest, IndexKeysFollowTheRecord) {
  Record record = record_of(2);
  record.head.due_at = 500;
  record.head.unmined_since = 100;
  ASSERT_TRUE(save(record));
  EXPECT_EQ(due(1'000), (std::vector<DueEntry>{{500, record.head.id}}));
  EXPECT_EQ(keys_in("tx_unmined"), 1u);

  Record moved = load(record.head.id).value();
  EXPECT_EQ(moved.stored_due_at, 500u);
  EXPECT_EQ(moved.stored_unmined_since, 100u);
  moved.head.due_at = 300;
  moved.head.unmined_since.reset();
  moved.dirty = true;
  ASSERT_TRUE(save(moved));
  EXPECT_EQ(due(1'000), (std::vector<DueEntry>{{300, record.head.id}}));
  EXPECT_EQ(keys_in("tx_due"), 1u);
  EXPECT_EQ(keys_in("tx_unmined"), 0u);

  // What does not change is not written again.
  Record same = load(record.head.id).value();
  same.dirty = true;
  const IoCounts before = io();
  ASSERT_TRUE(save(same));
  EXPECT_EQ(io().puts - before.puts, 1u);
  EXPECT_EQ(io().deletes, before.deletes);
}

TEST_F(RocksBackendTest, EraseOfARecordLeavesNoKey) {
  std::vector<Record> records;
  for (const std::uint32_t outputs : {0u, 16u, 17u, 500u}) {
    records.push_back(random_record(rng_, outputs));
    records.back().head.due_at = rng_.below(1'000);
    records.back().head.unmined_since = rng_.below(1'000);
  }
  Changes created;
  created.records.reserve(records.size());
  for (Record& record : records) created.records.push_back(&record);
  ASSERT_TRUE(save(std::move(created)));
  Changes erased;
  std::vector<Record> loaded;
  loaded.reserve(records.size());
  for (const Record& record : records) loaded.push_back(load(record.head.id).value());
  for (Record& record : loaded) {
    record.present = false;
    record.head.due_at = 7;  // whatever it says now
    erased.records.push_back(&record);
  }
  ASSERT_TRUE(save(std::move(erased)));
  for (const char* column : {"tx_state", "tx_page", "tx_body", "tx_due", "tx_unmined"})
    EXPECT_EQ(keys_in(column), 0u) << column;
  EXPECT_FALSE(load(records[0].head.id).value().present);
}

TEST_F(RocksBackendTest, ReplacedRecordLeavesNoStalePages) {
  Record record = record_of(100);
  ASSERT_TRUE(save(record));
  for (const std::uint32_t outputs : {33u, 32u, 17u, 16u, 17u, 0u}) {
    SCOPED_TRACE(outputs);
    Record other = record_of(outputs);
    other.head.id = record.head.id;
    other.stored = other.replaced = true;
    ASSERT_TRUE(save(other));
    expect_stored(other);
    EXPECT_EQ(keys_in("tx_page"), outputs > 16 ? Record::pages_of(outputs) : 0u);
  }
}

TEST_F(RocksBackendTest, ReplacedAndErasedInOneUnitLeavesNoKey) {
  Record record = record_of(100);
  ASSERT_TRUE(save(record));
  Record other = record_of(40);
  other.head.id = record.head.id;
  other.stored = other.replaced = true;
  other.present = false;
  ASSERT_TRUE(save(other));
  for (const char* column : {"tx_state", "tx_page", "tx_body"})
    EXPECT_EQ(keys_in(column), 0u) << column;
}

TEST_F(RocksBackendTest, CreatedAndErasedInOneUnitIsNotWritten) {
  Record record = random_record(rng_, 40);
  record.present = false;
  const IoCounts before = io();
  ASSERT_TRUE(save(record));
  EXPECT_EQ(io().puts, before.puts);
  EXPECT_EQ(io().deletes, before.deletes);
}

TEST_F(RocksBackendTest, TipAndCountsSurviveReopening) {
  Changes changes;
  changes.tip.emplace();
  changes.tip->position = position_at(812, rng_);
  changes.tip->final_height = 524;
  changes.tip->first_block = position_at(100, rng_);
  changes.counts.records = 3;
  changes.counts.kept[4] = 2;
  const Tip tip = *changes.tip;
  ASSERT_TRUE(save(changes));
  Changes more;
  more.counts.records = -1;
  more.counts.deleted = 1;
  ASSERT_TRUE(save(more));
  for (const bool again : {false, true}) {
    if (again) reopen();
    EXPECT_TRUE(backend_->run(Hold::kTip, [&](Unit& unit) -> Result<> {
      EXPECT_EQ(unit.tip().position, tip.position);
      EXPECT_EQ(unit.tip().final_height, 524);
      EXPECT_EQ(unit.tip().first_block, tip.first_block);
      return {};
    }));
    EXPECT_TRUE(backend_->read([&](View& view) -> Result<> {
      EXPECT_EQ(view.tip().position, tip.position);
      const Counts counts = TRY(view.counts());
      EXPECT_EQ(counts.records, 2);
      EXPECT_EQ(counts.deleted, 1);
      EXPECT_EQ(counts.kept[4], 2);
      return {};
    }));
  }
}

TEST_F(RocksBackendTest, UnitThatFailsChangesNothing) {
  Record record = record_of(1);
  const auto failed = backend_->run(
      Hold::kRecords, [&](Unit&) -> Result<> { return fail(Code::kCancelled, "stop"); });
  EXPECT_EQ(failed.error().code, Code::kCancelled);
  EXPECT_FALSE(load(record.head.id).value().present);
  EXPECT_TRUE(save(record));
}

TEST_F(RocksBackendTest, TooManyOutputsAreRefused) {
  Record record = record_of(0);
  record.head.outputs = kMaxOutputs + 1;
  EXPECT_EQ(save(record).error().code, Code::kTooLarge);
}

TEST_F(RocksBackendTest, DueReadsNothingWhenIdle) {
  Record early = record_of(1), late = record_of(1);
  early.head.due_at = 100;
  late.head.due_at = 200;
  Changes changes;
  changes.records = {&early, &late};
  ASSERT_TRUE(save(std::move(changes)));
  reopen();
  IoCounts before = io();
  EXPECT_TRUE(due(50).empty());
  EXPECT_EQ(io().seeks - before.seeks, 1u);  // the bound is not known yet
  before = io();
  for (std::uint64_t height = 51; height < 100; ++height) EXPECT_TRUE(due(height).empty());
  EXPECT_EQ(io().seeks, before.seeks);
  EXPECT_EQ(io().reads, before.reads);

  // A new one below the bound is found, and so are the others.
  Record earlier = record_of(1);
  earlier.head.due_at = 60;
  ASSERT_TRUE(save(earlier));
  EXPECT_EQ(due(99), (std::vector<DueEntry>{{60, earlier.head.id}}));
  EXPECT_EQ(due(200).size(), 3u);
  EXPECT_EQ(due(200, DueEntry{60, earlier.head.id}),
            (std::vector<DueEntry>{{100, early.head.id}, {200, late.head.id}}));
  EXPECT_EQ(due(200, {}, 2).size(), 2u);

  // Once they are gone nothing is read again.
  for (Record* record : {&early, &late, &earlier}) {
    Record gone = load(record->head.id).value();
    gone.present = false;
    ASSERT_TRUE(save(gone));
  }
  EXPECT_TRUE(due(1'000).empty());
  before = io();
  EXPECT_TRUE(due(1'000'000).empty());
  EXPECT_EQ(io().seeks, before.seeks);
}

TEST_F(RocksBackendTest, BlocksAreDroppedByHeight) {
  const auto heights = [&] {
    std::vector<std::uint64_t> found;
    EXPECT_TRUE(backend_->read([&](View& view) {
      return view.for_each_block([&](const BlockUndo& block) -> Result<bool> {
        found.push_back(block.position.ordinal.value);
        return true;
      });
    }));
    return found;
  };
  const auto put = [&](std::initializer_list<std::uint64_t> at,
                       std::vector<std::uint64_t> dropped = {}) {
    Changes changes;
    for (const std::uint64_t height : at)
      changes.blocks.push_back({position_at(height, rng_), Bytes(5, 1)});
    changes.dropped_blocks = std::move(dropped);
    ASSERT_TRUE(save(std::move(changes)));
  };
  using Heights = std::vector<std::uint64_t>;
  put({3, 10, 11, 12, 13});
  put({12}, {13, 12});  // dropped and put again: the new one stays
  EXPECT_EQ(heights(), (Heights{3, 10, 11, 12}));
  put({13}, {10, 3});
  EXPECT_EQ(heights(), (Heights{11, 12, 13}));
  reopen();
  put({1'000'001}, {12, 13, 11, 7});  // one of them was never there
  EXPECT_EQ(heights(), (Heights{1'000'001}));
  EXPECT_TRUE(backend_->read([&](View& view) -> Result<> {
    EXPECT_EQ(TRY(view.block_below(1'000'002))->ordinal.value, 1'000'001u);
    EXPECT_FALSE(TRY(view.block_below(1'000'001)));
    return {};
  }));
  EXPECT_TRUE(backend_->run(Hold::kTip, [&](Unit& unit) -> Result<> {
    EXPECT_EQ(TRY(unit.block(1'000'001))->undo, Bytes(5, 1));
    return {};
  }));
}

}  // namespace
}  // namespace coffer::txstore::rocks_test
