#include "utxo/changes.h"

#include <thread>

#include <coffer/chain/address.h>
#include "base/result.h"
#include "utxo/keys.h"

namespace coffer::utxo {
namespace {

// Making and taking in files costs some 20 ms whatever they hold; a batch about 5 µs a change.
constexpr std::size_t kChangesForFiles = 30'000;

// The changes of one column, to a batch or to a file.
class BatchSink {
 public:
  BatchSink(kv::Batch& batch, kv::Column column) : batch_(batch), column_(column) {}
  Result<> put(ByteView key, ByteView value) {
    batch_.put(column_, key, value);
    return {};
  }
  Result<> del(ByteView key) {
    batch_.del(column_, key);
    return {};
  }

 private:
  kv::Batch& batch_;
  kv::Column column_;
};

struct KeyedOutput {
  OutpointKey key;
  const CachedOutput* cached = nullptr;
};

struct IndexEntry {
  IndexKey key;
  bool put = false;
};

template <typename Entry>
void sort_by_key(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::memcmp(a.key.bytes.data(), b.key.bytes.data(), a.key.size) < 0;
  });
}

class CommitWriter {
 public:
  CommitWriter(const CommitPlan& plan, const ChangeSet& changes, const Tip& tip)
      : plan_(plan), changes_(changes), tip_(tip), outputs_(changes.outputs.all()) {}

  template <typename Sink>
  Result<> unspent(Sink& sink) const {
    std::vector<KeyedOutput> sorted;
    sorted.reserve(outputs_.size());
    for (const CachedOutput* cached : outputs_)
      sorted.push_back({outpoint_key(plan_.family, cached->outpoint), cached});
    sort_by_key(sorted);
    for (const KeyedOutput& at : sorted) {
      if (at.cached->state == CacheState::kLive)
        TRY(sink.put(at.key.view(), at.cached->body.view()));
      else
        TRY(sink.del(at.key.view()));
    }
    return {};
  }

  template <typename Sink, typename OwnerOf>
  Result<> index(Sink& sink, OwnerOf owner_of) const {
    std::vector<IndexEntry> entries;
    entries.reserve(outputs_.size());
    const auto add = [&](const chain::Outpoint& outpoint, ByteView record, bool put) -> Result<> {
      const RecordHead head = TRY(decode_head(record));
      if (const std::optional<Hash224> owner = owner_of(head.address))
        entries.push_back({index_key(plan_.family, *owner, head.slot, outpoint), put});
      return {};
    };
    for (const auto& [outpoint, body] : changes_.overwritten)
      TRY(add(outpoint, body.view(), false));
    for (const CachedOutput* cached : outputs_)
      if (cached->body.size > 0)
        TRY(add(cached->outpoint, cached->body.view(), cached->state == CacheState::kLive));
    sort_by_key(entries);
    for (const IndexEntry& entry : entries) {
      if (entry.put)
        TRY(sink.put(entry.key.view(), {}));
      else
        TRY(sink.del(entry.key.view()));
    }
    return {};
  }

  template <typename Sink>
  Result<> addresses(Sink& sink) const {
    return index(sink,
                 [](ByteView address) { return std::optional<Hash224>(address_owner(address)); });
  }

  template <typename Sink>
  Result<> credentials(Sink& sink) const {
    return index(sink, [](ByteView address) -> std::optional<Hash224> {
      const auto payment = chain::credentials_of(address).payment;
      if (!payment) return std::nullopt;
      return payment->hash;
    });
  }

  template <typename Sink>
  Result<> spent(Sink& sink) const {
    struct Entry {
      OutpointKey key;
      std::size_t order = 0;  // the last of a key wins
      const SpentOutput* cached = nullptr;
      const RawChange* other = nullptr;
    };
    std::vector<Entry> entries;
    entries.reserve(changes_.spent.size() + changes_.spent_other.size());
    for (const RawChange& other : changes_.spent_other)
      entries.push_back(
          {outpoint_key(plan_.family, other.outpoint), entries.size(), nullptr, &other});
    for (const SpentOutput& cached : changes_.spent)
      entries.push_back(
          {outpoint_key(plan_.family, cached.outpoint), entries.size(), &cached, nullptr});
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      const int order = std::memcmp(a.key.bytes.data(), b.key.bytes.data(), a.key.size);
      return order != 0 ? order < 0 : a.order < b.order;
    });
    Bytes value;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Entry& entry = entries[i];
      if (i + 1 < entries.size() && equal(entry.key.view(), entries[i + 1].key.view())) continue;
      if (entry.cached != nullptr) {
        value.clear();
        encode_spent(value, entry.cached->by, changes_.blocks[entry.cached->block].second,
                     entry.cached->before.view());
        TRY(sink.put(entry.key.view(), value));
      } else if (entry.other->value) {
        TRY(sink.put(entry.key.view(), *entry.other->value));
      } else {
        TRY(sink.del(entry.key.view()));
      }
    }
    return {};
  }

  template <typename Sink>
  Result<> deltas(Sink& sink) const {
    std::vector<Ordinal> dropped = changes_.dropped_deltas;
    std::sort(dropped.begin(), dropped.end());
    for (const Ordinal ordinal : dropped) TRY(sink.del(ordinal_key(ordinal)));
    for (const auto& [ordinal, delta] : changes_.deltas) TRY(sink.put(ordinal_key(ordinal), delta));
    return {};
  }

  template <typename Sink>
  Result<> mmr(Sink& sink) const {
    for (const auto& [key, value] : changes_.mmr) {
      if (value)
        TRY(sink.put(key, *value));
      else
        TRY(sink.del(key));
    }
    return {};
  }

  template <typename Sink>
  Result<> meta(Sink& sink) const {
    return sink.put(as_bytes(kTipKey), encode_tip(tip_));
  }

  // Each column with the function that writes it: fn(column, write).
  template <typename Fn>
  Result<> for_each_column(Fn fn) const {
    const Columns& c = plan_.columns;
    TRY(fn(c.unspent, [this](auto& sink) { return this->unspent(sink); }));
    if (plan_.index_address) TRY(fn(c.addr, [this](auto& sink) { return this->addresses(sink); }));
    TRY(fn(c.spent, [this](auto& sink) { return this->spent(sink); }));
    if (plan_.index_credential)
      TRY(fn(c.cred, [this](auto& sink) { return this->credentials(sink); }));
    TRY(fn(c.delta, [this](auto& sink) { return this->deltas(sink); }));
    if (c.mmr) TRY(fn(c.mmr, [this](auto& sink) { return this->mmr(sink); }));
    return fn(c.meta, [this](auto& sink) { return this->meta(sink); });
  }

 private:
  const CommitPlan& plan_;
  const ChangeSet& changes_;
  const Tip& tip_;
  const std::vector<const CachedOutput*> outputs_;
};

Result<> commit_batch(const CommitPlan& plan, const CommitWriter& writer) {
  kv::Batch batch;
  TRY(writer.for_each_column([&](kv::Column column, auto write) -> Result<> {
    BatchSink sink(batch, column);
    return write(sink);
  }));
  return plan.db.commit(batch);
}

// A thread for each column: sorting and building a table are most of the work.
Result<> commit_files(const CommitPlan& plan, const CommitWriter& writer) {
  std::vector<kv::SortedFile> files;
  files.reserve(std::size(kColumnNames));
  std::deque<Result<>> results;
  std::vector<std::jthread> threads;
  TRY(writer.for_each_column([&](kv::Column column, auto write) -> Result<> {
    auto opened = plan.db.sorted_file(column);
    if (!opened) return fail(std::move(opened).error());
    files.push_back(std::move(*opened));
    results.emplace_back();
    threads.emplace_back(
        [write, file = &files.back(), result = &results.back()] { *result = write(*file); });
    return {};
  }));
  threads.clear();  // waits for them
  for (const Result<>& result : results)
    if (!result) return result;
  return plan.db.ingest(files);
}

}  // namespace

std::uint32_t ChangeSet::add_block(const chain::Block& block) {
  blocks.emplace_back(block.hash, CreationBlock::of(block));
  blocks.back().second.block_hash = blocks.back().first.view();
  other_bytes += sizeof(blocks.back());
  return static_cast<std::uint32_t>(blocks.size() - 1);
}

void ChangeSet::add_spent(const chain::Outpoint& outpoint, Body before, const Hash256& by,
                          std::uint32_t block) {
  other_bytes += sizeof(SpentOutput) + before.size;
  spent.push_back({outpoint, std::move(before), by, block});
}

void ChangeSet::add_delta(Ordinal ordinal, Bytes delta) {
  other_bytes += delta.size();
  deltas.emplace_back(ordinal, std::move(delta));
}

Result<> commit(const CommitPlan& plan, const ChangeSet& changes, const Tip& tip) {
  const CommitWriter writer(plan, changes, tip);
  return changes.changes() + changes.mmr.size() >= kChangesForFiles ? commit_files(plan, writer)
                                                                    : commit_batch(plan, writer);
}

}  // namespace coffer::utxo
