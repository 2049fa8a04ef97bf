// A store that tests damage past its engine, with what they need to find their victims.
#pragma once

#include "txstore/support/store_place.h"

namespace coffer::txstore::test {

class DamagedStore {
 public:
  explicit DamagedStore(const StorePlace& place) : store_(open_store(place)) {
    get_value((*store_)->backend().read([&](View& view) -> Result<> {
      tip_ = view.tip();
      TRY(view.for_each(std::nullopt, [&](const Record& found) -> Result<bool> {
        if (found.pages.size() <= 1 && found.has_inputs()) records_.push_back(found);
        return true;
      }));
      return view.for_each_block([&](const BlockUndo& block) -> Result<bool> {
        blocks_.push_back(block);
        return true;
      });
    }));
  }

  Store& store() { return **store_; }
  const Tip& tip() const { return tip_; }
  std::vector<BlockUndo>& blocks() { return blocks_; }

  const Record* find(const Hash256& id) const {
    for (const Record& record : records_)
      if (record.head.id == id) return &record;
    return nullptr;
  }
  bool is_final(const Record& record) const {
    const auto height = record.head.highest_height();
    return record.head.on_longest_chain() && height &&
           static_cast<std::int64_t>(*height) <= tip_.final_height;
  }
  // The first that fits, to be changed; the store must have one.
  Record pick(const std::function<bool(const Record&)>& fits) const {
    for (const Record& record : records_)
      if (fits(record)) return record;
    ADD_FAILURE() << "no record fits";
    CHECK(false);
  }
  // The first record with an output that fits, and that output.
  std::pair<Record, Entry*> pick_entry(
      const std::function<bool(const Record&, const Entry&)>& fits) {
    picked_ = pick([&](const Record& record) {
      return !record.pages.empty() &&
             std::any_of(record.pages[0].entries.begin(), record.pages[0].entries.end(),
                         [&](const Entry& entry) { return fits(record, entry); });
    });
    for (Entry& entry : picked_.pages[0].entries)
      if (fits(picked_, entry)) return {picked_, &entry};
    CHECK(false);
  }
  Record& picked() { return picked_; }
  // Spent by a child that is stored, mined, and can still be undone.
  bool has_young_child(const Entry& entry) const {
    if (!entry.spent || entry.final || entry.removed) return false;
    const Record* child = find(entry.spender);
    return child != nullptr && child->head.state == State::kMined && !is_final(*child);
  }

  void save(Record record, const Counts& counts = {}) {
    record.dirty = true;
    for (Page& page : record.pages) page.dirty = true;
    Changes changes;
    changes.records = {&record};
    changes.counts = counts;
    save(std::move(changes));
  }
  void erase(Record record) {
    record.present = false;
    Counts counts;
    counts.records = -1;
    counts.bytes = -static_cast<std::int64_t>(record.body_bytes);
    if (record.head.kept != retention::Reason::kDeletable)
      counts.kept[static_cast<std::size_t>(record.head.kept)] = -1;
    save(std::move(record), counts);
  }
  void save(Changes changes) {
    get_value((*store_)->backend().run(Hold::kTip,
                                       [&](Unit& unit) { return unit.save(std::move(changes)); }));
  }

  // ---- RocksDB ----
  void put(const char* column, ByteView key) {
    kv::Batch batch;
    batch.put(store_->kv().column(column).value(), key, {});
    get_value(store_->kv().commit(batch));
  }
  void remove(const char* column, ByteView key) {
    kv::Batch batch;
    batch.del(store_->kv().column(column).value(), key);
    get_value(store_->kv().commit(batch));
  }
  Bytes first_key(const char* column) {
    kv::Iterator at = store_->kv().iterate(store_->kv().column(column).value());
    at.seek_to_first();
    CHECK(at.valid());
    return Bytes(at.key().begin(), at.key().end());
  }

 private:
  std::unique_ptr<OpenedStore> store_;
  Tip tip_;
  std::vector<Record> records_;
  std::vector<BlockUndo> blocks_;
  Record picked_;
};

}  // namespace coffer::txstore::test
