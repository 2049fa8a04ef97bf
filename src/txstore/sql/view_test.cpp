// Lists and answers over all of the store.
#include "txstore/sql/test_backend.h"

namespace coffer::txstore::test {
namespace {

class SqlViews : public SqlBackendTest {};

TEST_P(SqlViews, TipCountsBlocksAndMarksSurviveReopening) {
  Mark mark;
  mark.preserve_until = 77;
  mark.frozen = {0, 4'294'967'295};
  mark.reassigned = {{3, test_hash(5), 1'234}};
  Changes changes;
  changes.tip = Tip{test_position(12), -276, test_position(3)};
  changes.counts.records = 3;
  changes.counts.kept[retention::kReasons - 1] = 5;
  changes.marks = {{test_hash(1), mark}, {test_hash(2), locked_mark()}};
  for (const std::uint64_t height : {10u, 11u, 12u})
    changes.blocks.push_back({test_position(height), Bytes(height, 9)});
  run(
      [&](Unit& unit) -> Result<> {
        EXPECT_TRUE(unit.tip().position.at_origin);
        EXPECT_EQ(unit.tip().final_height, -1);
        return unit.save(changes);
      },
      Hold::kTip);
  Changes more;
  more.counts.records = -1;
  more.marks = {{test_hash(2), Mark()}};
  more.dropped_blocks = {12, 10};
  run([&](Unit& unit) { return unit.save(more); });

  backend_.reset();
  database_.reset();
  run([&](Unit& unit) -> Result<> {
    EXPECT_EQ(unit.tip().position, test_position(12));
    EXPECT_EQ(unit.tip().position.point.slot, Slot(240));
    EXPECT_EQ(unit.tip().final_height, -276);
    EXPECT_EQ(unit.tip().first_block, test_position(3));
    EXPECT_EQ(TRY(unit.block(11))->undo, Bytes(11, 9));
    EXPECT_FALSE(TRY(unit.block(12)));
    Marks marks;
    TRY(unit.load_marks(std::array{test_hash(1), test_hash(2)}, marks));
    EXPECT_EQ(marks.size(), 1u);
    const Mark& found = marks[test_hash(1)];
    EXPECT_EQ(found.frozen, mark.frozen);
    EXPECT_EQ(found.preserve_until, 77u);
    EXPECT_EQ(found.reassigned.front().hash, test_hash(5));
    EXPECT_EQ(found.reassigned.front().spendable_at, 1'234u);
    return {};
  });
  read([&](View& view) -> Result<> {
    Counts counts;
    counts.records = 2;
    counts.kept[retention::kReasons - 1] = 5;
    EXPECT_TRUE(TRY(view.counts()) == counts);
    EXPECT_EQ(view.tip().position, test_position(12));
    EXPECT_EQ(TRY(view.block_below(12)), test_position(11));
    EXPECT_FALSE(TRY(view.block_below(11)));
    int blocks = 0;
    TRY(view.for_each_block([&](const BlockUndo& block) -> Result<bool> {
      EXPECT_EQ(block.position, test_position(11));
      return ++blocks < 10;
    }));
    EXPECT_EQ(blocks, 1);
    return {};
  });
  EXPECT_GT(backend().disk_bytes(), 0u);
}

TEST_P(SqlViews, DueAndUnminedAreListedInOrder) {
  std::vector<Record> records;
  for (std::uint64_t i = 0; i < 30; ++i) {
    Record& record = records.emplace_back(test_record(i, 1));
    if (i % 3 != 0) record.head.due_at = 100 + i % 5;
    if (i % 2 != 0) record.head.unmined_since = 200 + i % 7;
  }
  std::vector<DueEntry> due, unmined;
  for (const Record& record : records) {
    if (record.head.due_at) due.push_back({*record.head.due_at, record.head.id});
    if (record.head.unmined_since) unmined.push_back({*record.head.unmined_since, record.head.id});
  }
  std::sort(due.begin(), due.end());
  std::sort(unmined.begin(), unmined.end());
  store(records);
  const auto pages = [](const auto& page) -> Result<std::vector<DueEntry>> {
    std::vector<DueEntry> all;
    for (std::optional<DueEntry> after;;) {
      const std::vector<DueEntry> some = TRY(page(after));
      if (some.empty()) return all;
      all.insert(all.end(), some.begin(), some.end());
      after = some.back();
    }
  };
  read([&](View& view) -> Result<> {
    EXPECT_EQ(TRY(pages([&](const auto& after) { return view.due(after, 4); })), due);
    EXPECT_EQ(TRY(pages([&](const auto& after) { return view.unmined(after, 4); })), unmined);
    return {};
  });
  std::erase_if(due, [](const DueEntry& entry) { return entry.height > 102; });
  run([&](Unit& unit) -> Result<> {
    EXPECT_EQ(TRY(pages([&](const auto& after) { return unit.due(102, after, 4); })), due);
    return {};
  });
}

TEST_P(SqlViews, ForEachGivesAllInTheOrderOfIds) {
  std::vector<Record> records;
  records.reserve(1'203);
  for (std::uint64_t i = 0; i < 1'203; ++i) records.push_back(test_record(i, 1, 1));
  store(records);
  read([&](View& view) -> Result<> {
    std::vector<Hash256> ids;
    const auto each = [&](const Record& record) -> Result<bool> {
      EXPECT_TRUE(ids.empty() || ids.back() < record.head.id);
      EXPECT_EQ(record.head.blocks.size(), 1u);
      ids.push_back(record.head.id);
      return ids.size() < 1'500;
    };
    TRY(view.for_each(std::nullopt, each));
    EXPECT_EQ(ids.size(), 1'203u);
    const Hash256 middle = ids[600];
    ids.clear();
    TRY(view.for_each(middle, each));
    EXPECT_EQ(ids.size(), 602u);
    return {};
  });
}

// Entry 2 of every record is final; that of record 1 names a child that is still stored.
TEST_P(SqlViews, PrunedAreTheSpendersOfFinalEntriesThatAreNotStored) {
  Record parent = test_record(1, 3), other = test_record(2, 3);
  parent.entry(2).spender = test_hash(7);
  other.entry(1) = other.entry(2);
  other.entry(1).spender_input += 1;
  const Hash256 gone = other.entry(2).spender;
  store({parent, other, test_record(7, 1)});
  read([&](View& view) -> Result<> {
    EXPECT_FALSE(TRY(view.is_pruned(test_hash(7))));
    EXPECT_TRUE(TRY(view.is_pruned(gone)));
    EXPECT_FALSE(TRY(view.is_pruned(test_hash(8))));
    std::vector<PrunedRef> pairs;
    TRY(view.for_each_pruned([&](const PrunedRef& pair) -> Result<bool> {
      pairs.push_back(pair);
      return true;
    }));
    EXPECT_EQ(pairs.size(), 1u);
    EXPECT_EQ(pairs.front().child, gone);
    EXPECT_EQ(pairs.front().parent, test_hash(2));
    return {};
  });
  change(7, [](Record& record) { record.present = false; });
  read([&](View& view) -> Result<> {
    EXPECT_TRUE(TRY(view.is_pruned(test_hash(7))));
    return {};
  });
}

TEST_P(SqlViews, MissingRowsAreCorruption) {
  store({test_record(1, 2), test_record(2, 20)});
  const std::string prefix = is_sqlite() ? "" : "txstore.";
  ok(execute("DELETE FROM " + prefix + "outputs WHERE idx = 1"));
  read([&](View& view) -> Result<> {
    std::vector<Record> one = asked(std::array<std::uint64_t, 1>{1}),
                        many = asked(std::array<std::uint64_t, 1>{2});
    EXPECT_EQ(view.load(pointers(one)).error().code, Code::kCorrupt);
    TRY(view.load(pointers(many)));
    EXPECT_EQ(load_all_pages(view, many.front()).error().code, Code::kCorrupt);
    return {};
  });
}

COFFER_ON_EVERY_ENGINE(SqlViews);

}  // namespace
}  // namespace coffer::txstore::test
