#include "txstore/rocksdb/backend.h"

#include <charconv>
#include <map>
#include <set>

#include <coffer/txstore/store.h>
#include "base/check.h"
#include "base/result.h"
#include "txstore/rocksdb/changes.h"
#include "txstore/rocksdb/reader.h"
#include "txstore/rocksdb/view.h"

namespace coffer::txstore {
namespace {

// The name of a column and what it is used for, in one place.
struct ColumnRow {
  const char* name;
  kv::Column RocksColumns::* column;
};
constexpr ColumnRow kColumnRows[] = {
    {"tx_body", &RocksColumns::body},       {"tx_state", &RocksColumns::state},
    {"tx_page", &RocksColumns::page},       {"tx_due", &RocksColumns::due},
    {"tx_unmined", &RocksColumns::unmined}, {"tx_block", &RocksColumns::block},
    {"tx_pruned", &RocksColumns::pruned},   {"tx_marks", &RocksColumns::marks},
    {"tx_meta", &RocksColumns::meta},
};
constexpr std::string_view kMarksColumn = "tx_marks";

void add_counts(Counts& to, const Counts& more) {
  to.records += more.records;
  to.bytes += more.bytes;
  to.unmined += more.unmined;
  to.conflicting += more.conflicting;
  to.final_entries += more.final_entries;
  to.parent_missing += more.parent_missing;
  to.overrides += more.overrides;
  to.deleted += more.deleted;
  for (std::size_t i = 0; i < retention::kReasons; ++i) to.kept[i] += more.kept[i];
}

}  // namespace

class RocksBackend::RocksUnit final : public Unit {
 public:
  explicit RocksUnit(RocksBackend& owner)
      : owner_(owner),
        reader_(owner.db_, owner.columns_, owner.family_, owner.io_, /*snapshot=*/nullptr,
                &owner.cache_) {}

  const Tip& tip() const override { return owner_.stored_.tip; }
  Result<> load(std::span<Record* const> records) override { return reader_.load(records); }
  Result<> load_pages(std::span<const PageRef> pages) override { return reader_.load_pages(pages); }
  Result<> load_inputs(std::span<Record* const> records) override {
    return reader_.load_inputs(records);
  }
  Result<TxBody> body(const Hash256& id) override { return reader_.body(id); }
  Result<std::optional<BlockUndo>> block(std::uint64_t height) override {
    return reader_.block(height);
  }
  Result<> load_marks(std::span<const Hash256> ids, Marks& found) override {
    if (!owner_.marks_) owner_.marks_ = TRY(reader_.marks());
    if (owner_.marks_->empty()) return {};
    for (const Hash256& id : ids)
      if (const auto mark = owner_.marks_->find(id); mark != owner_.marks_->end())
        found.insert(*mark);
    return {};
  }

  Result<std::vector<DueEntry>> due(std::uint64_t up_to, std::optional<DueEntry> after,
                                    std::size_t limit) override {
    std::optional<std::uint64_t>& floor = owner_.due_floor_;
    if (limit == 0 || (floor && *floor > up_to)) return std::vector<DueEntry>{};
    auto found = TRY(reader_.index_entries(
        owner_.columns_.due,
        {.from = floor.value_or(0), .up_to = up_to, .after = after, .limit = limit}));
    if (!after) floor = found.first_height.value_or(~std::uint64_t{0});
    return std::move(found.entries);
  }

  Result<> save(Changes changes) override {
    CHECK(!saved_);
    saved_ = true;
    const std::vector<std::uint64_t> dropped = dropped_blocks(changes);
    const std::vector<const BlockUndo*> blocks = put_blocks(changes);
    const std::vector<PageKey> stale = TRY(stale_pages(changes));
    StoredTip next = owner_.stored_;
    if (changes.tip) next.tip = *changes.tip;
    add_counts(next.counts, changes.counts);
    const bool moved = changes.tip || changes.counts != Counts{};
    lower_due_floor(changes);
    auto written = write_changes({owner_.db_, owner_.columns_, owner_.batch_, changes, dropped,
                                  blocks, moved ? &next : nullptr, stale, owner_.cache_});
    if (!written) {
      owner_.cache_.clear();
      owner_.marks_.reset();
      written.error().retryable = false;  // nobody knows whether it is there
      return fail(std::move(written).error());
    }
    owner_.io_.add(*written);
    owner_.stored_ = next;
    remember_marks(changes);
    return {};
  }

 private:
  void remember_marks(const Changes& changes) {
    if (!owner_.marks_) return;
    for (const auto& [id, mark] : changes.marks) {
      if (mark.empty())
        owner_.marks_->erase(id);
      else
        owner_.marks_->insert_or_assign(id, mark);
    }
  }

  // The last of each height, ascending.
  static std::vector<const BlockUndo*> put_blocks(const Changes& changes) {
    std::map<std::uint64_t, const BlockUndo*> last;
    for (const BlockUndo& block : changes.blocks) last[block.position.ordinal.value] = &block;
    std::vector<const BlockUndo*> blocks;
    blocks.reserve(last.size());
    for (const auto& [height, block] : last) blocks.push_back(block);
    return blocks;
  }

  // Heights to delete, ascending, without those that are put again.
  static std::vector<std::uint64_t> dropped_blocks(const Changes& changes) {
    std::set<std::uint64_t> heights(changes.dropped_blocks.begin(), changes.dropped_blocks.end());
    for (const BlockUndo& block : changes.blocks) heights.erase(block.position.ordinal.value);
    return std::vector<std::uint64_t>(heights.begin(), heights.end());
  }

  // A record that is replaced may have had more outputs: a Cardano transaction that turns out to be
  // invalid, or valid, has other ones under the same id.
  Result<std::vector<PageKey>> stale_pages(const Changes& changes) {
    std::vector<PageKey> stale;
    for (const Record* record : changes.records) {
      if (!record->stored || !record->replaced) continue;
      const std::uint32_t outputs = record->present ? record->head.outputs : 0;
      const std::uint32_t pages = outputs > kPageEntries ? Record::pages_of(outputs) : 0;
      const auto keys = TRY(reader_.pages_from(record->head.id, pages));
      stale.insert(stale.end(), keys.begin(), keys.end());
    }
    return stale;
  }

  // Before the commit, so that the bound holds whether it is there or not.
  void lower_due_floor(const Changes& changes) {
    if (owner_.due_floor_)
      for (const Record* record : changes.records)
        if (record->present && record->head.due_at)
          owner_.due_floor_ = std::min(*owner_.due_floor_, *record->head.due_at);
  }

  RocksBackend& owner_;
  RocksReader reader_;
  bool saved_ = false;
};

RocksBackend::RocksBackend(kv::Database& db, const chain::Network& network,
                           const RocksColumns& columns, const StoredTip& stored,
                           std::size_t cache_bytes)
    : db_(db), family_(network.family), columns_(columns), stored_(stored), cache_(cache_bytes) {}

RocksBackend::~RocksBackend() = default;

Result<> RocksBackend::run(Hold, const std::function<Result<>(Unit&)>& body) {
  if (db_.read_only())
    return fail(Code::kConflict, "the transaction store is open for reading only");
  const std::scoped_lock lock(unit_mutex_);
  RocksUnit unit(*this);
  return body(unit);
}

Result<> RocksBackend::read(const std::function<Result<>(View&)>& body) {
  const kv::Snapshot snapshot = db_.snapshot();
  RocksReader reader(db_, columns_, family_, io_, &snapshot);
  const StoredTip stored = TRY(reader.tip()).value_or(StoredTip{});
  RocksView view(reader, columns_, stored);
  return body(view);
}

std::uint64_t RocksBackend::disk_bytes() const {
  std::uint64_t sum = 0;
  for (const ColumnRow& row : kColumnRows) {
    const auto text = db_.property(columns_.*row.column, "rocksdb.total-sst-files-size");
    std::uint64_t bytes = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), bytes);
    sum += bytes;
  }
  return sum;
}

Result<RocksColumns> open_columns(const kv::Database& db) {
  RocksColumns columns;
  for (const ColumnRow& row : kColumnRows) columns.*row.column = TRY(db.column(row.name));
  return columns;
}

Result<std::unique_ptr<Backend>> open_rocksdb(kv::Database& db, const chain::Network& network,
                                              bool read_only, std::size_t cache_bytes) {
  const auto none = [] {
    return fail(Code::kNotFound,
                "there is no transaction store here; is txstore.enabled on, and has a sync been "
                "run?");
  };
  const auto meta = db.column("tx_meta");
  if (!meta && read_only) return none();
  const RocksColumns columns = TRY(open_columns(db));
  const auto format = TRY(db.get(columns.meta, as_bytes(kFormatKey)));
  if (!format) {
    if (read_only) return none();
    kv::Batch batch;
    batch.put(columns.meta, as_bytes(kFormatKey), Bytes{kRecordFormat});
    TRY(db.commit(batch));
  } else if (format->size() != 1 || format->front() == 0) {
    return fail(Code::kCorrupt, "tx_meta: the format cannot be read; run 'coffer tx rebuild'");
  } else if (format->front() > kRecordFormat) {
    return fail(Code::kConflict,
                "the transaction store has format {}, this program knows up to {}; use a newer "
                "program or run 'coffer tx rebuild'",
                format->front(), kRecordFormat);
  }
  IoCounters unused;
  RocksReader reader(db, columns, network.family, unused, nullptr);
  const StoredTip stored = TRY(reader.tip()).value_or(StoredTip{});
  return std::make_unique<RocksBackend>(db, network, columns, stored, cache_bytes);
}

std::vector<kv::ColumnOptions> columns() {
  constexpr std::uint64_t kLarge = 64u << 20, kSmall = 8u << 20;
  // Most bytes are hashes, signatures and keys: in blocks of 4 KiB, Zstandard makes the
  // transactions of a mainnet block 12% smaller and LZ4 9%, at a fraction of the time in
  // compactions.
  constexpr auto kFast = kv::Compression::kLz4;
  return {
      // Fetched by whole keys, which are hashes: a filter saves the reads of what is not there.
      {.name = "tx_body",
       .point_lookups = true,
       .compression = kFast,
       .write_buffer_bytes = kLarge},
      {.name = "tx_state",
       .point_lookups = true,
       .compression = kFast,
       .write_buffer_bytes = kLarge},
      {.name = "tx_page",
       .point_lookups = true,
       .compression = kFast,
       .write_buffer_bytes = kLarge},
      // Walked in order.
      {.name = "tx_due", .bloom_bits = 0, .compression = kFast, .write_buffer_bytes = kLarge},
      {.name = "tx_unmined", .bloom_bits = 0, .write_buffer_bytes = kSmall},
      {.name = "tx_block", .bloom_bits = 0, .compression = kFast, .write_buffer_bytes = kLarge},
      // Asked by child: the filter is over that prefix.
      {.name = "tx_pruned", .prefix_bytes = 32, .compression = kFast, .write_buffer_bytes = kSmall},
      {.name = "tx_marks", .write_buffer_bytes = kSmall},
      {.name = "tx_meta", .bloom_bits = 0, .write_buffer_bytes = kSmall},
  };
}

Result<> erase(kv::Database& db) {
  kv::Batch batch;  // one for all, or a crash would leave a tip over an empty store
  std::vector<kv::Column> emptied;
  for (const ColumnRow& row : kColumnRows) {
    if (row.name == kMarksColumn) continue;
    if (const auto column = db.column(row.name)) {
      batch.del_range(*column, {}, Bytes(96, 0xff));
      emptied.push_back(*column);
    }
  }
  TRY(db.commit(batch, kv::Durability::kWalSync));
  for (const kv::Column column : emptied) TRY(db.compact(column));
  return {};
}

}  // namespace coffer::txstore
