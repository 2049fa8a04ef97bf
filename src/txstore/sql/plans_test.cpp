// What statements cost: how many there are, and that they find their rows by keys.
#include <fmt/ranges.h>

#include "txstore/sql/test_backend.h"

namespace coffer::txstore::test {
namespace {

class SqlPlans : public SqlBackendTest {
 protected:
  // Everything that units and views do, on records 0 to 9. One of them goes, 5,000 comes.
  void use_all() {
    std::vector<std::uint64_t> numbers;
    numbers.reserve(10);
    for (std::uint64_t i = 0; i < 10; ++i) numbers.push_back(i);
    run([&](Unit& unit) -> Result<> {
      std::vector<Record> records = asked(numbers);
      TRY(unit.load(pointers(records)));
      for (Record& record : records) {
        Record* const one[] = {&record};
        TRY(unit.load_inputs(one));
        TRY(load_all_pages(unit, record));
        record.head.blocks = {{{record.head.blocks.front().block.height + 1, 0}, true}};
        record.dirty = record.pages[0].dirty = true;
        record.entry(0).frozen = !record.entry(0).frozen;
      }
      (void)TRY(unit.body(records[0].head.id));
      (void)TRY(unit.due(1'000, std::nullopt, 10));
      (void)TRY(unit.block(3));
      Marks marks;
      TRY(unit.load_marks(std::array{records[0].head.id}, marks));
      records[1].present = false;
      Record fresh = test_record(5'000, 3);
      records[2].replaced = true;
      records[3].new_body = fresh.new_body;
      Changes changes = changes_of(records);
      changes.records.push_back(&fresh);
      changes.marks = {{test_hash(1), locked_mark()}, {test_hash(2), Mark()}};
      changes.blocks = {{test_position(4), {}}};
      changes.dropped_blocks = {5};
      changes.tip = Tip{test_position(4), -1, {}};
      changes.counts.records = 1;
      return unit.save(std::move(changes));
    });
    read([&](View& view) -> Result<> {
      std::vector<Record> records = asked(numbers);
      TRY(view.load(pointers(records)));
      (void)TRY(view.is_pruned(test_hash(3'000'002)));
      (void)TRY(view.unmined(std::nullopt, 10));
      (void)TRY(view.due(std::nullopt, 10));
      (void)TRY(view.block_below(9));
      TRY(view.for_each(std::nullopt, [](const Record&) -> Result<bool> { return false; }));
      TRY(view.for_each_pruned([](const PrunedRef&) -> Result<bool> { return false; }));
      return view.for_each_block([](const BlockUndo&) -> Result<bool> { return false; });
    });
  }

  // The lines of a plan that is made once for all values, with the settings of a unit.
  std::vector<std::string> plan(const std::string& text, const std::string& tip) {
    std::vector<std::string> lines;
    ok(db().run_transaction([&](sql::Transaction& at) -> Result<> {
      int params = 0;
      while (text.find(fmt::format("${}", params + 1)) != std::string::npos) ++params;
      std::vector<sql::Param> values;
      std::string explain = "EXPLAIN QUERY PLAN " + text;
      if (is_sqlite()) {
        values.resize(static_cast<std::size_t>(params), std::optional<std::int64_t>());
      } else {
        (void)TRY(at.query(tip));
        TRY(at.script("SET LOCAL plan_cache_mode = force_generic_plan"));
        TRY(at.script("PREPARE planned AS " + text));
        std::string nulls;
        for (int i = 0; i < params; ++i) nulls += i == 0 ? "NULL" : ", NULL";
        explain = params == 0 ? "EXPLAIN EXECUTE planned"
                              : fmt::format("EXPLAIN EXECUTE planned({})", nulls);
      }
      sql::Rows rows = TRY(at.query(explain, values));
      while (TRY(rows.next())) lines.push_back(TRY(rows.get<std::string>(is_sqlite() ? 3 : 0)));
      return is_sqlite() ? Result<>() : at.script("DEALLOCATE planned");
    }));
    return lines;
  }
  // Reads all of a table that grows, or has to sort what it found.
  bool is_bad(const std::vector<std::string>& lines) const {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string& line = lines[i];
      if (line.find("Sort") != std::string::npos || line.find("FOR ORDER BY") != std::string::npos)
        return true;
      if (is_sqlite()) {
        if (line.starts_with("SCAN ") && line != "SCAN CONSTANT ROW") return true;
        continue;
      }
      if (line.find("Seq Scan on") != std::string::npos &&
          line.find("Seq Scan on txstore_") == std::string::npos)
        return true;
      const bool by_index = line.find("Index Scan") != std::string::npos ||
                            line.find("Index Only Scan") != std::string::npos;
      if (by_index &&
          (i + 1 == lines.size() || lines[i + 1].find("Index Cond") == std::string::npos))
        return true;
    }
    return false;
  }
  void expect_good_plans() {
    (void)take_statements();
    use_all();
    std::vector<std::string> texts = take_statements();
    std::string tip_text;
    for (const std::string& text : texts)
      if (tip_text.empty() && text.find("txstore_tip") != std::string::npos) tip_text = text;
    ASSERT_NE(tip_text, "");
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    int looked_at = 0;
    for (const std::string& text : texts) {
      if (!text.starts_with("SELECT ") && !text.starts_with("INSERT ") &&
          !text.starts_with("UPDATE ") && !text.starts_with("DELETE "))
        continue;
      ++looked_at;
      const auto lines = plan(text, tip_text);
      EXPECT_FALSE(is_bad(lines)) << text << "\n  " << fmt::format("{}", fmt::join(lines, "\n  "));
    }
    EXPECT_GT(looked_at, 25);
  }
};

TEST_P(SqlPlans, EveryStatementFindsItsRowsByAKey) {
  std::vector<Record> records;
  records.reserve(10);
  for (std::uint64_t i = 0; i < 10; ++i) records.push_back(test_record(i, 20));
  store(records);
  expect_good_plans();  // the server knows nothing of the tables yet
  records.clear();
  for (std::uint64_t i = 10; i < 3'000; ++i) {
    records.push_back(test_record(i, 4));
    if (i % 3 == 0) records.back().head.due_at = i;
    if (i % 5 == 0) records.back().head.unmined_since = i;
  }
  for (std::uint64_t i = 0; i < 10; ++i)
    if (!stored(i).present) records.push_back(test_record(i, 4));
  store(records);
  change(5'000, [](Record& record) { record.present = false; });
  run([&](Unit& unit) {
    Changes changes;
    for (std::uint64_t height = 10; height < 300; ++height)
      changes.blocks.push_back({test_position(height), {}});
    return unit.save(std::move(changes));
  });
  script("ANALYZE");
  expect_good_plans();
}

COFFER_ON_EVERY_ENGINE(SqlPlans);

// SQLite has none.
class SqlRoundTrips : public SqlBackendTest {};

TEST_P(SqlRoundTrips, NumberOfStatementsDoesNotDependOnThatOfRecords) {
  std::vector<Record> records;
  records.reserve(500);
  for (std::uint64_t i = 0; i < 500; ++i) records.push_back(test_record(i, i % 2 == 0 ? 2 : 40));
  std::vector<std::size_t> created, changed;
  for (const std::uint64_t count : {2u, 500u}) {
    (void)backend();
    (void)take_statements();
    if (count == 2)
      store({records[0], records[1]});
    else
      store({records.begin() + 2, records.end()});
    created.push_back(take_statements().size());
    run([&](Unit& unit) -> Result<> {
      std::vector<std::uint64_t> numbers;
      numbers.reserve(count);
      for (std::uint64_t i = 0; i < count; ++i) numbers.push_back(i);
      std::vector<Record> loaded = asked(numbers);
      TRY(unit.load(pointers(loaded)));
      std::vector<PageRef> pages;
      for (Record& record : loaded) {
        record.dirty = true;
        const std::uint32_t page = record.pages.size() == 1 ? 0 : 2;
        if (page != 0) pages.push_back({&record, page});
      }
      TRY(unit.load_pages(pages));
      for (Record& record : loaded) {
        Page& page = record.pages.size() == 1 ? record.pages[0] : record.pages[2];
        page.entries[0].amount = Amount(1);
        page.dirty = true;
      }
      return unit.save(changes_of(loaded));
    });
    changed.push_back(take_statements().size());
  }
  EXPECT_EQ(created[0], created[1]);
  EXPECT_EQ(changed[0], changed[1]);
  EXPECT_LE(changed[0], 8u);
}

COFFER_ON_EVERY_SERVER(SqlRoundTrips);

}  // namespace
}  // namespace coffer::txstore::test
