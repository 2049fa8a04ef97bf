// A unit is a transaction of the database, a view one that only reads.
#pragma once

#include "txstore/sql/loader.h"
#include "txstore/sql/saver.h"

namespace coffer::txstore {

class SqlUnit final : public Unit {
 public:
  SqlUnit(sql::Transaction& sql, const Statements& statements)
      : sql_(sql), statements_(statements), loader_(sql, statements) {}

  // Before anything else: waits for units that it cannot be beside. On SQLite the transaction is
  // the lock.
  Result<> begin(Hold hold);
  // Another unit has created a record that this one wanted to create: it must be tried again.
  bool has_lost_race() const { return lost_race_; }

  const Tip& tip() const override { return tip_; }
  Result<> load(std::span<Record* const> records) override;
  Result<> load_pages(std::span<const PageRef> pages) override;
  Result<> load_inputs(std::span<Record* const> records) override;
  Result<TxBody> body(const Hash256& id) override { return loader_.body(id); }
  Result<std::vector<DueEntry>> due(std::uint64_t up_to, std::optional<DueEntry> after,
                                    std::size_t limit) override;
  Result<std::optional<BlockUndo>> block(std::uint64_t height) override;
  Result<> load_marks(std::span<const Hash256> ids, Marks& found) override;
  Result<> save(Changes changes) override;

 private:
  sql::Transaction& sql_;
  const Statements& statements_;
  RecordLoader loader_;
  Tip tip_;
  LoadedRecords loaded_;
  bool lost_race_ = false;
};

class SqlView final : public View {
 public:
  SqlView(sql::Transaction& sql, const Statements& statements)
      : sql_(sql), statements_(statements), loader_(sql, statements) {}
  Result<> begin();

  const Tip& tip() const override { return tip_; }
  Result<Counts> counts() override;
  Result<> load(std::span<Record* const> records) override;
  Result<> load_pages(std::span<const PageRef> pages) override;
  Result<TxBody> body(const Hash256& id) override { return loader_.body(id); }
  Result<bool> is_pruned(const Hash256& id) override;
  Result<> for_each(std::optional<Hash256> after,
                    const std::function<Result<bool>(const Record&)>& each) override;
  Result<std::vector<DueEntry>> unmined(std::optional<DueEntry> after, std::size_t limit) override;
  Result<std::vector<DueEntry>> due(std::optional<DueEntry> after, std::size_t limit) override;
  Result<std::optional<bus::Position>> block_below(std::uint64_t height) override;
  Result<> for_each_pruned(const std::function<Result<bool>(const PrunedRef&)>& each) override;
  Result<> for_each_block(const std::function<Result<bool>(const BlockUndo&)>& each) override;

 private:
  sql::Transaction& sql_;
  const Statements& statements_;
  RecordLoader loader_;
  Tip tip_;
};

// Up to `limit` due entries at or below a height, after another.
Result<std::vector<DueEntry>> read_due(sql::Reader& sql, const Statements& statements,
                                       std::uint64_t up_to, const std::optional<DueEntry>& after,
                                       std::size_t limit);
// The columns are height and hash.
Result<std::vector<DueEntry>> read_heights(sql::Reader& sql, std::string_view text,
                                           sql::Params params);

}  // namespace coffer::txstore
