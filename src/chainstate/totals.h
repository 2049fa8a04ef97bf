// A consumer that counts: what lies on the chain up to its tip, and a digest of all of it.
//
// Column totals: ordinal → the counts up to and including that block, kept for the rollback window.
// Invariant: the record at the position is a function of the chain alone, however it was reached;
// two stores that agree on the digest were fed the same blocks and transactions. Cost a block: one
// hash over 33 bytes a transaction, one put, one delete.
#pragma once

#include "chainstate/grouped_writer.h"

namespace coffer::chainstate {

struct TotalsRecord {
  std::uint64_t blocks = 0;
  std::uint64_t transactions = 0;
  std::uint64_t invalid_transactions = 0;
  std::uint64_t inputs = 0;   // spent, that is: collateral for invalid transactions
  std::uint64_t outputs = 0;  // created
  std::uint64_t bytes = 0;
  Hash256 digest{};
  friend bool operator==(const TotalsRecord&, const TotalsRecord&) = default;
};

class Totals final : public bus::Consumer {
 public:
  static std::vector<kv::ColumnOptions> columns();
  // Errors: kCorrupt, kUnavailable.
  static Result<std::unique_ptr<Totals>> open(kv::Database& db, std::uint64_t window);

  std::string_view name() const override { return "totals"; }
  bus::Position position() const override { return writer_->position(); }
  Result<> on_block(const bus::BlockApplied& block) override;
  Result<> on_rollback(const bus::RolledBack& rollback) override;
  Result<> flush() override;
  std::string repair() const override;

  // Thread-safe.
  TotalsRecord current() const;

 private:
  Totals(kv::Database& db, std::uint64_t window) : db_(db), window_(window) {}
  // The record at a position; zeros at Origin. Errors: kBeyondWindow if it is no longer kept.
  Result<TotalsRecord> record_at(const bus::Position& position) const;
  void set_current(const TotalsRecord& record);

  kv::Database& db_;
  const std::uint64_t window_;
  kv::Column column_;
  std::unique_ptr<GroupedWriter> writer_;
  mutable std::mutex mutex_;
  TotalsRecord current_;
};

}  // namespace coffer::chainstate
