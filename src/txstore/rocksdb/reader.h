// Reads of the columns, for units and views: at a snapshot, or as things are now.
#pragma once

#include <coffer/chain/network.h>
#include "txstore/rocksdb/codec.h"
#include "txstore/rocksdb/columns.h"
#include "txstore/rocksdb/io_counts.h"
#include "txstore/rocksdb/state_cache.h"

namespace coffer::txstore {

// Not thread-safe. Must go before its database and its snapshot do. Errors of all: kCorrupt naming
// the transaction, kUnavailable.
class RocksReader {
 public:
  RocksReader(const kv::Database& db, const RocksColumns& columns, chain::Family family,
              IoCounters& io, const kv::Snapshot* snapshot, StateCache* cache = nullptr)
      : db_(db), columns_(columns), family_(family), io_(io), snapshot_(snapshot), cache_(cache) {}

  // As Unit. Cost: one MultiGet of up to kKeysAtOnce keys at a time, so that what they pin in the
  // cache is bounded.
  Result<> load(std::span<Record* const> records);
  Result<> load_pages(std::span<const PageRef> pages);
  Result<> load_inputs(std::span<Record* const> records);
  Result<TxBody> body(const Hash256& id);
  Result<std::optional<BlockUndo>> block(std::uint64_t height);
  Result<Marks> marks();
  // Nothing if the store never had a tip.
  Result<std::optional<StoredTip>> tip();

  struct IndexRange {
    std::uint64_t from = 0;
    std::uint64_t up_to = ~std::uint64_t{0};
    std::optional<DueEntry> after;
    std::size_t limit = 0;
  };
  struct IndexEntries {
    std::vector<DueEntry> entries;
    // The height of the first key of the walk, also if it is beyond up_to; nothing if there is no
    // key.
    std::optional<std::uint64_t> first_height;
  };
  // Of tx_due or tx_unmined. Cost: one seek, and a step an entry.
  Result<IndexEntries> index_entries(kv::Column column, const IndexRange& range);

  Result<bool> is_pruned(const Hash256& id);
  // Every key of the column in order, after `after`; false from `each` ends it.
  Result<> walk(kv::Column column, ByteView after,
                const std::function<Result<bool>(ByteView key, ByteView value)>& each);
  // The newest below this height.
  Result<std::optional<bus::Position>> block_below(std::uint64_t height);
  // Keys of tx_page from this page of the transaction on.
  Result<std::vector<PageKey>> pages_from(const Hash256& id, std::uint32_t page);

  std::unexpected<Error> corrupt(std::string_view column, const Hash256& id) const;
  std::unexpected<Error> corrupt(std::string_view column, std::string_view what) const;

 private:
  static constexpr std::size_t kKeysAtOnce = 4'096, kKeysForThreads = 16'384;
  using EachValue = std::function<Result<>(std::size_t index, std::optional<ByteView> value)>;

  // Fetches keys_ and hands out the values in their order.
  Result<> fetch(kv::Column column, const EachValue& each);
  Result<> fetch(kv::Column column, std::size_t begin, std::size_t end, kv::PinnedValues& values,
                 const EachValue& each);
  // The same for many keys, on two threads: `each` is called by both, with different indexes.
  Result<> fetch_in_parallel(kv::Column column, const EachValue& each);
  Result<std::optional<Bytes>> get(kv::Column column, ByteView key);

  const kv::Database& db_;
  const RocksColumns columns_;
  const chain::Family family_;
  IoCounters& io_;
  const kv::Snapshot* const snapshot_;
  StateCache* const cache_;  // null: every read goes to the database
  // Reused from call to call.
  std::vector<ByteView> keys_;
  std::vector<Record*> missing_;
  std::vector<PageKey> page_keys_;
  kv::PinnedValues values_;
};

}  // namespace coffer::txstore
