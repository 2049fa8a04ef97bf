// One moment of the store in RocksDB: a snapshot.
#pragma once

#include "txstore/backend.h"
#include "txstore/rocksdb/reader.h"

namespace coffer::txstore {

class RocksView final : public View {
 public:
  // Both must outlive it; the reader reads at a snapshot.
  RocksView(RocksReader& reader, const RocksColumns& columns, const StoredTip& stored)
      : reader_(reader), columns_(columns), stored_(stored) {}

  const Tip& tip() const override { return stored_.tip; }
  Result<Counts> counts() override { return stored_.counts; }
  Result<> load(std::span<Record* const> records) override { return reader_.load(records); }
  Result<> load_pages(std::span<const PageRef> pages) override { return reader_.load_pages(pages); }
  Result<TxBody> body(const Hash256& id) override { return reader_.body(id); }
  Result<bool> is_pruned(const Hash256& id) override { return reader_.is_pruned(id); }
  Result<> for_each(std::optional<Hash256> after,
                    const std::function<Result<bool>(const Record&)>& each) override;
  Result<std::vector<DueEntry>> unmined(std::optional<DueEntry> after, std::size_t limit) override;
  Result<std::vector<DueEntry>> due(std::optional<DueEntry> after, std::size_t limit) override;
  Result<std::optional<bus::Position>> block_below(std::uint64_t height) override {
    return reader_.block_below(height);
  }
  Result<> for_each_pruned(const std::function<Result<bool>(const PrunedRef&)>& each) override;
  Result<> for_each_block(const std::function<Result<bool>(const BlockUndo&)>& each) override;

 private:
  RocksReader& reader_;
  const RocksColumns& columns_;
  const StoredTip stored_;
};

}  // namespace coffer::txstore
