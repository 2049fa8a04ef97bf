#include "txstore/rocksdb/reader.h"

#include <thread>

#include "base/check.h"
#include "base/result.h"
#include "bus/position_codec.h"

namespace coffer::txstore {

std::unexpected<Error> RocksReader::corrupt(std::string_view column, std::string_view what) const {
  return fail(Code::kCorrupt, "{}: {} cannot be read; run 'coffer tx rebuild'", column, what);
}

std::unexpected<Error> RocksReader::corrupt(std::string_view column, const Hash256& id) const {
  return corrupt(column, "transaction " + chain::display(family_, id));
}

Result<> RocksReader::fetch(kv::Column column, const EachValue& each) {
  return fetch(column, 0, keys_.size(), values_, each);
}

Result<> RocksReader::fetch(kv::Column column, std::size_t begin, std::size_t end,
                            kv::PinnedValues& values, const EachValue& each) {
  IoCounts io;
  for (; begin < end; begin += kKeysAtOnce) {
    const std::size_t count = std::min(kKeysAtOnce, end - begin);
    TRY(db_.multi_get(column, std::span(keys_).subspan(begin, count), values, snapshot_));
    io.reads += count;
    ++io.calls;
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<ByteView> value = values[i];
      if (value) io.bytes_read += value->size();
      TRY(each(begin + i, value));
    }
  }
  io_.add(io);
  return {};
}

// Reading is mostly computing: searching, decompressing, decoding.
Result<> RocksReader::fetch_in_parallel(kv::Column column, const EachValue& each) {
  if (keys_.size() < kKeysForThreads) return fetch(column, each);
  const std::size_t middle = keys_.size() / 2;
  Result<> first_half;
  kv::PinnedValues values;
  std::jthread thread([&] { first_half = fetch(column, 0, middle, values, each); });
  Result<> second_half = fetch(column, middle, keys_.size(), values_, each);
  thread.join();
  TRY(first_half);
  return second_half;
}

Result<std::optional<Bytes>> RocksReader::get(kv::Column column, ByteView key) {
  auto value = TRY(db_.get(column, key, snapshot_));
  io_.add({.reads = 1, .bytes_read = value ? value->size() : 0, .calls = 1});
  return value;
}

Result<> RocksReader::load(std::span<Record* const> records) {
  const auto decode = [&](Record& record, ByteView value) -> Result<> {
    if (value.empty()) {
      record.stored = record.present = false;
      return {};
    }
    if (!decode_state_value(value, record)) return corrupt("tx_state", record.head.id);
    return {};
  };
  keys_.clear();
  missing_.clear();
  for (Record* record : records) {
    const auto cached = cache_ == nullptr ? std::nullopt : cache_->find(record->head.id);
    if (cached) {
      TRY(decode(*record, *cached));
    } else {
      missing_.push_back(record);
      keys_.push_back(record->head.id.view());
    }
  }
  return fetch_in_parallel(columns_.state,
                           [&](std::size_t i, std::optional<ByteView> value) -> Result<> {
                             Record& record = *missing_[i];
                             if (value && value->empty())
                               return corrupt("tx_state", record.head.id);
                             return decode(record, value.value_or(ByteView()));
                           });
}

Result<> RocksReader::load_pages(std::span<const PageRef> pages) {
  page_keys_.clear();
  for (const PageRef& ref : pages) page_keys_.push_back(page_key(ref.record->head.id, ref.page));
  keys_.assign(page_keys_.begin(), page_keys_.end());
  return fetch(columns_.page, [&](std::size_t i, std::optional<ByteView> value) -> Result<> {
    const PageRef& ref = pages[i];
    CHECK(ref.page < ref.record->pages.size());
    const std::uint32_t count =
        std::min(kPageEntries, ref.record->head.outputs - ref.page * kPageEntries);
    if (!value || !decode_page_value(*value, count, ref.record->pages[ref.page].entries))
      return corrupt("tx_page", ref.record->head.id);
    return {};
  });
}

Result<> RocksReader::load_inputs(std::span<Record* const> records) {
  keys_.clear();
  for (const Record* record : records) keys_.push_back(record->head.id.view());
  return fetch(columns_.body, [&](std::size_t i, std::optional<ByteView> value) -> Result<> {
    Record& record = *records[i];
    if (!value || !decode_body_inputs(*value, record.inputs) || !record.has_inputs())
      return corrupt("tx_body", record.head.id);
    return {};
  });
}

Result<TxBody> RocksReader::body(const Hash256& id) {
  kv::Pinned value;
  const bool found = TRY(db_.get_pinned(columns_.body, id.view(), value, snapshot_));
  io_.add({.reads = 1, .bytes_read = found ? value.view().size() : 0, .calls = 1});
  if (!found)
    return fail(Code::kNotFound, "the body of transaction {} is not stored",
                chain::display(family_, id));
  TxBody body;
  if (!decode_body_value(value.view(), body)) return corrupt("tx_body", id);
  return body;
}

Result<std::optional<BlockUndo>> RocksReader::block(std::uint64_t height) {
  const auto value = TRY(get(columns_.block, bus::ordinal_key(Ordinal(height))));
  if (!value) return std::nullopt;
  BlockUndo block;
  if (!decode_block_value(*value, block)) return corrupt("tx_block", fmt::format("{}", height));
  return block;
}

Result<Marks> RocksReader::marks() {
  Marks all;
  TRY(walk(columns_.marks, {}, [&](ByteView key, ByteView value) -> Result<bool> {
    if (key.size() != Hash256::kSize) return corrupt("tx_marks", "key " + to_hex(key));
    const Hash256 id = Hash256::from(key.data());
    if (!decode_mark_value(value, all[id])) return corrupt("tx_marks", id);
    return true;
  }));
  return all;
}

Result<std::optional<StoredTip>> RocksReader::tip() {
  const auto value = TRY(get(columns_.meta, as_bytes(kTipKey)));
  if (!value) return std::nullopt;
  StoredTip stored;
  if (!decode_tip_value(*value, stored)) return corrupt("tx_meta", "the tip");
  return stored;
}

Result<RocksReader::IndexEntries> RocksReader::index_entries(kv::Column column,
                                                             const IndexRange& range) {
  IndexEntries found;
  const IndexKey start =
      range.after ? index_key(range.after->height, range.after->id) : index_key(range.from, {});
  kv::Iterator at = db_.iterate(column, {.lower_bound = start, .snapshot = snapshot_});
  IoCounts io{.seeks = 1};
  for (at.seek_to_first(); at.valid() && found.entries.size() < range.limit; at.next()) {
    const ByteView key = at.key();
    io.bytes_read += key.size();
    if (key.size() != start.size() || !at.value().empty())
      return corrupt("tx_due or tx_unmined", "key " + to_hex(key));
    const DueEntry entry{load_be64(key.data()), Hash256::from(key.data() + 8)};
    if (range.after && entry == *range.after) continue;
    if (!found.first_height) found.first_height = entry.height;
    if (entry.height > range.up_to) break;
    found.entries.push_back(entry);
  }
  io_.add(io);
  TRY(at.status());
  return found;
}

Result<bool> RocksReader::is_pruned(const Hash256& id) {
  kv::Iterator at = db_.iterate(columns_.pruned, {.prefix = id.view(), .snapshot = snapshot_});
  at.seek_to_first();
  io_.add({.seeks = 1, .bytes_read = at.valid() ? at.key().size() : 0});
  TRY(at.status());
  return at.valid();
}

Result<> RocksReader::walk(kv::Column column, ByteView after,
                           const std::function<Result<bool>(ByteView key, ByteView value)>& each) {
  kv::Iterator at =
      db_.iterate(column, {.lower_bound = after, .snapshot = snapshot_, .fill_cache = false});
  IoCounts io{.seeks = 1};
  for (at.seek_to_first(); at.valid(); at.next()) {
    io.bytes_read += at.key().size() + at.value().size();
    if (!after.empty() && equal(at.key(), after)) continue;
    if (!TRY(each(at.key(), at.value()))) break;
  }
  io_.add(io);
  return at.status();
}

Result<std::optional<bus::Position>> RocksReader::block_below(std::uint64_t height) {
  const auto end = bus::ordinal_key(Ordinal(height));
  kv::Iterator at = db_.iterate(columns_.block, {.upper_bound = end, .snapshot = snapshot_});
  at.seek_to_last();
  io_.add({.seeks = 1, .bytes_read = at.valid() ? at.value().size() : 0});
  TRY(at.status());
  if (!at.valid()) return std::nullopt;
  bus::Position position;
  if (!decode_block_position(at.value(), position))
    return corrupt("tx_block", fmt::format("the newest block below {}", height));
  return position;
}

Result<std::vector<PageKey>> RocksReader::pages_from(const Hash256& id, std::uint32_t page) {
  std::vector<PageKey> keys;
  const PageKey start = page_key(id, page);
  kv::Iterator at = db_.iterate(columns_.page,
                                {.prefix = id.view(), .lower_bound = start, .snapshot = snapshot_});
  io_.add({.seeks = 1});
  for (at.seek_to_first(); at.valid(); at.next()) {
    if (at.key().size() != start.size()) return corrupt("tx_page", id);
    std::memcpy(keys.emplace_back().data(), at.key().data(), start.size());
  }
  TRY(at.status());
  return keys;
}

}  // namespace coffer::txstore
