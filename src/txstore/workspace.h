// The records that one unit works on: each loaded once, changed in memory, saved together.
// What every change must keep is done here: counts of a record, its stamp (X3) and its due height.
// Not thread-safe. Cost: one load for each list of ids that is not yet known.
#pragma once

#include <deque>
#include <map>

#include "txstore/backend.h"

namespace coffer::txstore {

class Workspace {
 public:
  Workspace(Unit& unit, const Options& options)
      : unit_(unit), options_(options), tip_(unit.tip()) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  Unit& unit() { return unit_; }
  const Options& options() const { return options_; }
  Changes& changes() { return changes_; }

  const Tip& tip() const { return tip_; }
  // The height that a change outside a block has.
  std::uint64_t height() const { return tip_.height(); }
  // The store does not begin at Origin, but with this block (X5).
  void set_first_block(const bus::Position& position) { tip_.first_block = position; }
  // Moves the tip; the final height rises with it and never falls.
  void set_tip(const bus::Position& position);
  retention::Window window() const { return {options_.window, {tip_.height(), tip_.final_height}}; }

  // Loads those that are not known yet.
  Result<> load(const std::vector<Hash256>& ids);
  // The pages of these outputs, of records that are loaded and have them.
  Result<> load_entries(std::span<const chain::Outpoint> outputs);
  // Of these records, of which one may be there more than once.
  Result<> load_all_pages(std::span<Record* const> records);
  Result<> load_inputs(std::span<Record* const> records);
  // The parents of these records, with the entries that their inputs name.
  Result<> load_parents(std::span<Record* const> records);

  // Nothing if it was not loaded; null if it was and is not stored.
  std::optional<Record*> find_loaded(const Hash256& id);
  // Null unless it is stored, or was created here. It must have been loaded.
  Record* find(const Hash256& id);
  // The output that an outpoint names; null if there is none. It must have been loaded.
  Entry* find_entry(const chain::Outpoint& outpoint, Record** parent = nullptr);
  // Those in memory that are due at the tip, the earliest first.
  std::vector<Record*> find_due();
  // A new record in place of what load() did not find.
  Record& create(const Hash256& id);
  void erase(Record& record);

  // ---- changes; each leaves stamp and due height to restamp() ----
  void mark_spent(Record& parent, std::uint32_t output, const Hash256& spender,
                  std::uint32_t input);
  void mark_unspent(Record& parent, std::uint32_t output);
  void mark_final(Record& parent, std::uint32_t output);
  void touch_entry(Record& parent, std::uint32_t output);
  void touch(Record& record);
  // After a change at this height: the state that follows from its blocks, the stamp, and when it
  // is looked at next.
  void restamp(Record& record, std::uint64_t height);
  // A verdict kept it.
  void set_kept(Record& record, const retention::Verdict& verdict);
  // What people did to these, stored or not: load() must have seen them.
  Result<> load_marks(std::span<const Hash256> ids);
  // What people did to a transaction, to be changed in place; it is written with the rest.
  Result<Mark*> mark(const Hash256& id);
  // Null if nobody did anything to it. It must have been loaded.
  const Mark* find_mark(const Hash256& id) const;

  // Undo data of a block, as stored or as this unit will store it.
  Result<std::optional<BlockUndo>> block(std::uint64_t height);
  void drop_block(std::uint64_t height);
  // The body as stored, or as this unit will store it.
  Result<TxBody> body(const Record& record);

  // Writes everything that changed. Once.
  Result<> save();

 private:
  void count(const Record& record, std::int64_t sign);
  // Remembers the record as it was, for the counts, and that it is to be written.
  void change(Record& record);

  Unit& unit_;
  const Options& options_;
  Tip tip_;
  bool moved_ = false;
  std::deque<Record> records_;
  std::unordered_map<Hash256, Record*, HashOfHash> by_id_;
  std::vector<Record*> changed_;
  Marks loaded_marks_;
  std::map<Hash256, Mark> marks_;  // to be written
  Changes changes_;
};

}  // namespace coffer::txstore
