// A store in a directory of its own, and what tests ask of it.
#pragma once

#include <gtest/gtest.h>

#include <coffer/txstore/store.h>
#include "base/result.h"
#include "base/temp_dir.h"
#include "txstore/rocksdb/backend.h"
#include "txstore/rocksdb/test_support.h"

namespace coffer::txstore::rocks_test {

class RocksBackendTest : public testing::Test {
 protected:
  RocksBackendTest() { open(); }

  std::unique_ptr<kv::Database> open_database(bool read_only = false) {
    kv::DatabaseOptions options;
    options.path = dir_.path() / "db";
    options.columns = columns();
    options.read_only = read_only;
    return kv::Database::open(options).value();
  }
  void open() {
    db_ = open_database();
    backend_ = open_rocksdb(*db_, network_, false, /*cache_bytes=*/0).value();
  }
  void reopen() {
    backend_.reset();
    db_.reset();
    open();
  }

  IoCounts io() const { return static_cast<RocksBackend&>(*backend_).io_counts(); }

  Result<> save(Changes changes) {
    std::sort(changes.records.begin(), changes.records.end(),
              [](const Record* a, const Record* b) { return a->head.id < b->head.id; });
    return backend_->run(Hold::kTip, [&](Unit& unit) { return unit.save(std::move(changes)); });
  }
  Result<> save(Record& record) {
    Changes changes;
    changes.records = {&record};
    return save(std::move(changes));
  }

  // With all pages and inputs.
  Result<Record> load(const Hash256& id) {
    Record record;
    record.head.id = id;
    const auto done = backend_->run(Hold::kRecords, [&](Unit& unit) -> Result<> {
      Record* const one[] = {&record};
      TRY(unit.load(one));
      if (!record.present) return {};
      std::vector<PageRef> pages;
      if (record.head.outputs > kPageEntries)
        for (std::uint32_t i = 0; i < record.pages.size(); ++i) pages.push_back({&record, i});
      TRY(unit.load_pages(pages));
      if (!record.has_inputs()) TRY(unit.load_inputs(one));
      return {};
    });
    if (!done) return fail(done.error());
    return record;
  }

  void expect_stored(const Record& record) {
    auto read = load(record.head.id);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_TRUE(read->present && read->stored);
    EXPECT_EQ(read->inputs, record.inputs);
    ASSERT_EQ(read->pages.size(), record.pages.size());
    for (std::uint32_t i = 0; i < record.head.outputs; ++i) {
      const std::uint32_t page = Record::page_of(i);
      ASSERT_EQ(read->pages[page].entries.size(), record.pages[page].entries.size());
      expect_same_entry(record.pages[page].entries[i % kPageEntries], read->entry(i));
    }
    // The rest as tx_state alone tells it.
    if (record.head.outputs > kPageEntries)
      for (Page& page : read->pages) page.entries.clear();
    if (record.input_count > kInlineInputs) read->inputs.clear();
    expect_same_state(record, *read);
    EXPECT_TRUE(backend_->run(Hold::kRecords, [&](Unit& unit) -> Result<> {
      expect_same_body(*record.new_body, TRY(unit.body(record.head.id)));
      return {};
    }));
  }

  std::size_t keys_in(const char* column) const {
    std::size_t count = 0;
    kv::Iterator at = db_->iterate(db_->column(column).value());
    for (at.seek_to_first(); at.valid(); at.next()) ++count;
    EXPECT_TRUE(at.status());
    return count;
  }

  std::vector<DueEntry> due(std::uint64_t up_to, std::optional<DueEntry> after = {},
                            std::size_t limit = 100) {
    std::vector<DueEntry> found;
    EXPECT_TRUE(backend_->run(Hold::kRecords, [&](Unit& unit) -> Result<> {
      found = TRY(unit.due(up_to, after, limit));
      return {};
    }));
    return found;
  }

  void overwrite(const char* column, ByteView key, ByteView value) {
    kv::Batch batch;
    batch.put(db_->column(column).value(), key, value);
    ASSERT_TRUE(db_->commit(batch));
  }

  Record record_of(std::uint32_t outputs) {
    Record record = random_record(rng_, outputs);
    record.head.due_at.reset();
    record.head.unmined_since.reset();
    return record;
  }

  const TempDir dir_;
  const chain::Network network_ = chain::find_network("bitcoin", "regtest").value();
  Rng rng_{7};
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace coffer::txstore::rocks_test
