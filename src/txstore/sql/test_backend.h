// A transaction store in SQL for tests, on every engine, and records to put into it.
#pragma once

#include <gtest/gtest.h>

#include <mutex>

#include "base/result.h"
#include "sql/test_engines.h"
#include "txstore/sql/backend.h"

namespace coffer::txstore::test {

inline Hash256 test_hash(std::uint64_t number) {
  Hash256 hash{};
  store_be64(hash.data(), number * 0x9e3779b97f4a7c15ull);  // spread, in no order
  store_be64(hash.data() + 24, number);
  return hash;
}

inline bus::Position test_position(std::uint64_t height) {
  return bus::Position::after(Ordinal(height), {Slot(height * 20), test_hash(1'000'000 + height)});
}

inline Mark locked_mark() {
  Mark mark;
  mark.locked = true;
  return mark;
}

// An entry in one of the states that there are, by its index.
inline Entry test_entry(std::uint32_t index) {
  Entry entry;
  entry.hash = test_hash(2'000'000 + index);
  entry.amount = Amount(5'000'000'000 + index);
  const auto spend = [&] {
    entry.spent = true;
    entry.spender = test_hash(3'000'000 + index);
    entry.spender_input = index + 7;
  };
  switch (index % 7) {
    case 1: spend(); break;
    case 2: spend(), entry.final = true; break;
    case 3: entry.unspendable = true; break;
    case 4: entry.spent = entry.removed = true; break;
    case 5: entry.frozen = true, entry.spendable_at = 1'234; break;
    case 6: spend(), entry.frozen = true; break;
    default: break;
  }
  return entry;
}

// A new one, mined in one block, with two inputs.
inline Record test_record(std::uint64_t number, std::uint32_t outputs, std::uint32_t inputs = 2) {
  Record record;
  StoredTx& head = record.head;
  head.id = test_hash(number);
  head.state = State::kMined;
  head.blocks = {{{100 + number, 0xffff'0000'0000'0000 + number}, true}};
  head.outputs = outputs;
  record.pages.resize(Record::pages_of(outputs));
  for (std::uint32_t i = 0; i < outputs; ++i) {
    const Entry entry = test_entry(i);
    head.spendable += entry.unspendable ? 0 : 1;
    head.spent += entry.spent ? 1 : 0;
    record.pages[Record::page_of(i)].entries.push_back(entry);
  }
  TxBody& body = record.new_body.emplace();
  body.raw.assign(outputs % 100 + 60, static_cast<std::uint8_t>(number));
  if (number % 2 == 0) body.fee = Amount(number);
  for (std::uint32_t i = 0; i < inputs; ++i) {
    StoredInput& input = body.inputs.emplace_back();
    input.outpoint = {test_hash(4'000'000 + number), i};
    if (i % 2 == 0) input.amount = Amount(i);
    record.inputs.push_back(input.outpoint);
  }
  record.input_count = inputs;
  record.present = record.dirty = true;
  return record;
}

inline void expect_same_entry(const Entry& a, const Entry& b) {
  const auto tied = [](const Entry& e) {
    return std::tie(e.hash, e.amount, e.unspendable, e.removed, e.spent, e.final, e.frozen,
                    e.spendable_at, e.spender, e.spender_input);
  };
  EXPECT_EQ(tied(a), tied(b));
}

inline void expect_same_head(const StoredTx& a, const StoredTx& b) {
  const auto tied = [](const StoredTx& t) {
    return std::tie(t.id, t.state, t.coinbase, t.valid, t.locked, t.genesis, t.blocks, t.outputs,
                    t.spendable, t.spent, t.unmined_since, t.absent_since, t.delete_at_height,
                    t.due_at, t.preserve_until, t.kept);
  };
  EXPECT_TRUE(tied(a) == tied(b)) << a.id.hex();
}

// An empty store on the engine of the test.
class SqlBackendTest : public sql::test::EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    options_.on_statement = [this](std::string_view sql) {
      const std::lock_guard lock(mutex_);
      statements_.emplace_back(sql);
    };
  }

  Backend& backend() {
    if (!backend_) {
      auto opened = open_sql(db(), network_, sql::Schema::kMigrate);
      if (!opened) ADD_FAILURE() << opened.error().message;
      backend_ = std::move(opened).value();
    }
    return *backend_;
  }
  // The statements that were run since the last call.
  std::vector<std::string> take_statements() {
    const std::lock_guard lock(mutex_);
    return std::exchange(statements_, {});
  }
  template <typename T>
  static void ok(const Result<T>& result) {
    ASSERT_TRUE(result) << result.error().message;
  }

  void run(const std::function<Result<>(Unit&)>& body, Hold hold = Hold::kRecords) {
    ok(backend().run(hold, body));
  }
  void read(const std::function<Result<>(View&)>& body) { ok(backend().read(body)); }

  static std::vector<Record*> pointers(std::vector<Record>& records) {
    std::sort(records.begin(), records.end(),
              [](const Record& a, const Record& b) { return a.head.id < b.head.id; });
    std::vector<Record*> list;
    list.reserve(records.size());
    for (Record& record : records) list.push_back(&record);
    return list;
  }
  static Changes changes_of(std::vector<Record>& records) {
    Changes changes;
    changes.records = pointers(records);
    return changes;
  }
  void store(std::vector<Record> records) {
    run([&](Unit& unit) { return unit.save(changes_of(records)); });
  }
  static std::vector<Record> asked(std::span<const std::uint64_t> numbers) {
    std::vector<Record> records;
    for (const std::uint64_t number : numbers) records.emplace_back().head.id = test_hash(number);
    return records;
  }
  // Loads one with all of its pages, changes it and saves it.
  void change(std::uint64_t number, const std::function<void(Record&)>& how) {
    run([&](Unit& unit) -> Result<> {
      std::vector<Record> records = asked(std::array{number});
      TRY(unit.load(pointers(records)));
      TRY(load_all_pages(unit, records.front()));
      how(records.front());
      return unit.save(changes_of(records));
    });
  }
  template <typename Source>
  static Result<> load_all_pages(Source& source, Record& record) {
    std::vector<PageRef> pages;
    if (record.pages.size() > 1)
      for (std::uint32_t page = 0; page < record.pages.size(); ++page)
        pages.push_back({&record, page});
    return source.load_pages(pages);
  }
  // As a view sees it, with all pages.
  Record stored(std::uint64_t number) {
    std::vector<Record> records = asked(std::array{number});
    read([&](View& view) -> Result<> {
      TRY(view.load(pointers(records)));
      return load_all_pages(view, records.front());
    });
    return records.front();
  }
  std::int64_t rows_in(std::string_view table) {
    return number(fmt::format("SELECT count(*) FROM {}{}", is_sqlite() ? "" : "txstore.", table));
  }

  const chain::Network network_ = chain::find_network("bitcoin", "regtest").value();
  std::mutex mutex_;
  std::vector<std::string> statements_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace coffer::txstore::test
