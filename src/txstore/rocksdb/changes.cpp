#include "txstore/rocksdb/changes.h"

#include <deque>
#include <map>
#include <thread>

#include "base/check.h"
#include "base/result.h"
#include "bus/position_codec.h"

namespace coffer::txstore {
namespace {

// The changes of one column, to a batch or to a file.
class CountingSink {
 public:
  IoCounts io;

 protected:
  void count_put(ByteView key, ByteView value) {
    ++io.puts;
    io.bytes_written += key.size() + value.size();
  }
  void count_del(ByteView key) {
    ++io.deletes;
    io.bytes_written += key.size();
  }
};

class ToBatch : public CountingSink {
 public:
  static constexpr bool kSorted = false;
  ToBatch(kv::Batch& batch, kv::Column column) : batch_(batch), column_(column) {}
  Result<> put(ByteView key, ByteView value) {
    count_put(key, value);
    batch_.put(column_, key, value);
    return {};
  }
  Result<> del(ByteView key) {
    count_del(key);
    batch_.del(column_, key);
    return {};
  }

 private:
  kv::Batch& batch_;
  kv::Column column_;
};

class ToFile : public CountingSink {
 public:
  static constexpr bool kSorted = true;
  explicit ToFile(kv::SortedFile& file) : file_(file) {}
  Result<> put(ByteView key, ByteView value) {
    count_put(key, value);
    return file_.put(key, value);
  }
  Result<> del(ByteView key) {
    count_del(key);
    return file_.del(key);
  }

 private:
  kv::SortedFile& file_;
};

bool is_inline(const Record& record) {
  return record.head.outputs <= kPageEntries;
}

bool is_new(const Record& record) {
  return !record.stored || record.replaced;
}

bool writes_state(const Record& record) {
  if (!record.present) return false;
  return is_new(record) || record.dirty ||
         (is_inline(record) && !record.pages.empty() && record.pages[0].dirty);
}

class ChangeWriter {
 public:
  explicit ChangeWriter(const WritePlan& plan) : plan_(plan), changes_(plan.changes) {}

  Result<> check() const {
    for (const Record* record : changes_.records)
      if (record->head.outputs > kMaxOutputs)
        return fail(Code::kTooLarge, "transaction {} has {} outputs; at most {} can be stored",
                    record->head.id.hex(), record->head.outputs, kMaxOutputs);
    return {};
  }

  template <typename Sink>
  Result<> states(Sink& sink) const {
    Bytes buffer;
    for (const Record* record : changes_.records) {
      const ByteView key = record->head.id.view();
      if (writes_state(*record)) {
        const ByteView value = encode_state_value(*record, buffer);
        plan_.cache.put(record->head.id, value);
        TRY(sink.put(key, value));
      } else if (!record->present && record->stored) {
        plan_.cache.put(record->head.id, {});
        TRY(sink.del(key));
      }
    }
    return {};
  }

  template <typename Sink>
  Result<> bodies(Sink& sink) const {
    Bytes buffer;
    for (const Record* record : changes_.records) {
      const ByteView key = record->head.id.view();
      if (record->present && record->new_body)
        TRY(sink.put(key, encode_body_value(*record->new_body, buffer)));
      else if (!record->present && record->stored)
        TRY(sink.del(key));
    }
    return {};
  }

  template <typename Sink>
  Result<> pages(Sink& sink) const {
    Bytes buffer;
    auto stale = plan_.stale_pages.begin();
    for (const Record* record : changes_.records) {
      TRY(pages_of(*record, sink, buffer));
      for (; stale != plan_.stale_pages.end() &&
             std::memcmp(stale->data(), record->head.id.data(), Hash256::kSize) == 0;
           ++stale)
        TRY(sink.del(*stale));
    }
    CHECK(stale == plan_.stale_pages.end());
    return {};
  }

  template <typename Sink>
  Result<> due(Sink& sink) const {
    return index(sink, &Record::stored_due_at, &StoredTx::due_at);
  }

  template <typename Sink>
  Result<> unmined(Sink& sink) const {
    return index(sink, &Record::stored_unmined_since, &StoredTx::unmined_since);
  }

  template <typename Sink>
  Result<> pruned(Sink& sink) const {
    // A pair may come more than once. A deletion wins: whoever is pruned and whose parent is
    // deleted in the same unit leaves nothing behind.
    std::vector<std::pair<PrunedKey, bool>> pairs;
    pairs.reserve(changes_.pruned.size() + changes_.unpruned.size());
    for (const PrunedRef& ref : changes_.unpruned) pairs.emplace_back(pruned_key(ref), false);
    for (const PrunedRef& ref : changes_.pruned) pairs.emplace_back(pruned_key(ref), true);
    std::sort(pairs.begin(), pairs.end());  // false is before true
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (i > 0 && pairs[i].first == pairs[i - 1].first) continue;
      if (pairs[i].second)
        TRY(sink.put(pairs[i].first, {}));
      else
        TRY(sink.del(pairs[i].first));
    }
    return {};
  }

  template <typename Sink>
  Result<> marks(Sink& sink) const {
    std::map<Hash256, const Mark*> last;
    for (const auto& [id, mark] : changes_.marks) last[id] = &mark;
    for (const auto& [id, mark] : last) {
      if (mark->empty())
        TRY(sink.del(id.view()));
      else
        TRY(sink.put(id.view(), encode_mark_value(*mark)));
    }
    return {};
  }

  template <typename Sink>
  Result<> blocks(Sink& sink) const {
    std::size_t put = 0;
    const auto put_below = [&](std::uint64_t height) -> Result<> {
      for (; put < plan_.blocks.size(); ++put) {
        const BlockUndo& block = *plan_.blocks[put];
        if (block.position.ordinal.value >= height) break;
        TRY(sink.put(bus::ordinal_key(block.position.ordinal), encode_block_value(block)));
      }
      return {};
    };
    for (const std::uint64_t height : plan_.dropped_blocks) {
      TRY(put_below(height));
      TRY(sink.del(bus::ordinal_key(Ordinal(height))));
    }
    return put_below(~std::uint64_t{0});
  }

  template <typename Sink>
  Result<> meta(Sink& sink) const {
    if (plan_.tip == nullptr) return {};
    return sink.put(as_bytes(kTipKey), encode_tip_value(*plan_.tip));
  }

  // Each column with the function that writes it: fn(column, write).
  template <typename Fn>
  Result<> for_each_column(Fn fn) const {
    const RocksColumns& c = plan_.columns;
    TRY(fn(c.body, [this](auto& sink) { return this->bodies(sink); }));
    TRY(fn(c.state, [this](auto& sink) { return this->states(sink); }));
    TRY(fn(c.page, [this](auto& sink) { return this->pages(sink); }));
    TRY(fn(c.due, [this](auto& sink) { return this->due(sink); }));
    TRY(fn(c.unmined, [this](auto& sink) { return this->unmined(sink); }));
    if (!changes_.pruned.empty() || !changes_.unpruned.empty())
      TRY(fn(c.pruned, [this](auto& sink) { return this->pruned(sink); }));
    if (!plan_.blocks.empty() || !plan_.dropped_blocks.empty())
      TRY(fn(c.block, [this](auto& sink) { return this->blocks(sink); }));
    if (!changes_.marks.empty()) TRY(fn(c.marks, [this](auto& sink) { return this->marks(sink); }));
    return fn(c.meta, [this](auto& sink) { return this->meta(sink); });
  }

  // About how many keys it will write.
  std::size_t estimate() const {
    std::size_t count = changes_.pruned.size() + changes_.unpruned.size();
    for (const Record* record : changes_.records) {
      count += 1;
      if (record->new_body || !record->present) count += 2;
      if (!is_inline(*record) && (is_new(*record) || !record->present))
        count += Record::pages_of(record->head.outputs);
      if (record->stored_due_at != record->head.due_at) ++count;
    }
    return count;
  }

 private:
  template <typename Sink>
  Result<> pages_of(const Record& record, Sink& sink, Bytes& buffer) const {
    if (is_inline(record)) return {};
    // What a replaced one had is among the stale pages.
    if (!record.present && (!record.stored || record.replaced)) return {};
    const std::uint32_t count = Record::pages_of(record.head.outputs);
    const bool all = is_new(record);
    CHECK(!record.present || record.pages.size() == count);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!record.present) {
        TRY(sink.del(page_key(record.head.id, i)));
        continue;
      }
      const Page& page = record.pages[i];
      if (!all && !page.dirty) continue;
      CHECK(page.entries.size() == std::min(kPageEntries, record.head.outputs - i * kPageEntries));
      TRY(sink.put(page_key(record.head.id, i), encode_page_value(page.entries, buffer)));
    }
    return {};
  }

  // Deletes the key that the store has, and puts the new one, where they differ.
  template <typename Sink>
  Result<> index(Sink& sink, std::optional<std::uint64_t> Record::* stored,
                 std::optional<std::uint64_t> StoredTx::* now) const {
    std::vector<std::pair<IndexKey, bool>> sorted;
    for (const Record* record : changes_.records) {
      const std::optional<std::uint64_t> before = record->stored ? record->*stored : std::nullopt;
      const std::optional<std::uint64_t> after = record->present ? record->head.*now : std::nullopt;
      if (before == after) continue;
      for (const auto& [height, put] : {std::pair(before, false), std::pair(after, true)}) {
        if (!height) continue;
        const IndexKey key = index_key(*height, record->head.id);
        if constexpr (Sink::kSorted)
          sorted.emplace_back(key, put);
        else
          TRY(put ? sink.put(key, {}) : sink.del(key));
      }
    }
    std::sort(sorted.begin(), sorted.end());
    for (const auto& [key, put] : sorted) TRY(put ? sink.put(key, {}) : sink.del(key));
    return {};
  }

  const WritePlan& plan_;
  const Changes& changes_;
};

void add_io(IoCounts& to, const IoCounts& more) {
  to.puts += more.puts;
  to.deletes += more.deletes;
  to.bytes_written += more.bytes_written;
}

Result<IoCounts> write_batch(const WritePlan& plan, const ChangeWriter& writer) {
  IoCounts io;
  plan.batch.clear();
  TRY(writer.for_each_column([&](kv::Column column, auto write) -> Result<> {
    ToBatch sink(plan.batch, column);
    Result<> written = write(sink);
    add_io(io, sink.io);
    return written;
  }));
  TRY(plan.db.commit(plan.batch,
                     plan.changes.durable ? kv::Durability::kWalSync : kv::Durability::kWal));
  return io;
}

// A thread for each column: encoding and building a table are most of the work. Durable when it
// returns.
Result<IoCounts> write_files(const WritePlan& plan, const ChangeWriter& writer) {
  struct Part {
    kv::SortedFile* file;
    Result<> result;
    IoCounts io;
  };
  std::vector<kv::SortedFile> files;
  files.reserve(16);  // they must not move; more than there are columns
  std::deque<Part> parts;
  std::vector<std::jthread> threads;
  TRY(writer.for_each_column([&](kv::Column column, auto write) -> Result<> {
    auto opened = plan.db.sorted_file(column);
    if (!opened) return fail(std::move(opened).error());
    files.push_back(std::move(*opened));
    Part& part = parts.emplace_back(&files.back());
    threads.emplace_back([write, &part] {
      ToFile sink(*part.file);
      part.result = write(sink);
      part.io = sink.io;
    });
    return {};
  }));
  threads.clear();  // waits for them
  IoCounts io;
  for (Part& part : parts) {
    if (!part.result) return fail(std::move(part.result).error());
    add_io(io, part.io);
  }
  TRY(plan.db.ingest(files));
  return io;
}

}  // namespace

Result<IoCounts> write_changes(const WritePlan& plan) {
  const ChangeWriter writer(plan);
  TRY(writer.check());
  return writer.estimate() >= kChangesForFiles ? write_files(plan, writer)
                                               : write_batch(plan, writer);
}

}  // namespace coffer::txstore
