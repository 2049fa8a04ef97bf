// What a database must do for the transaction store: load records, save changes whole.
// Invariants: what a unit loads is what the changes that it saves are based on; nobody else changes
// it in between. All changes of a unit, the tip included, are there or none is, after any crash.
#pragma once

#include <functional>

#include "txstore/record.h"

namespace coffer::txstore {

enum class Hold : std::uint8_t {
  kTip,      // blocks and rollbacks: nobody else has a unit meanwhile
  kRecords,  // operations and cleanup: the tip stays where it is until the unit ends
};

// One atomic unit. Used by one thread.
class Unit {
 public:
  virtual ~Unit() = default;

  virtual const Tip& tip() const = 0;
  // Fills the head, up to kInlineInputs inputs, and page 0 if it is the only one; `present` tells
  // whether there was something. Locks them, so give them in the order of their ids, each once a
  // unit. Cost: one MultiGet; on SQL a constant number of statements.
  virtual Result<> load(std::span<Record* const> records) = 0;
  // Pages of loaded records. The same cost.
  virtual Result<> load_pages(std::span<const PageRef> pages) = 0;
  // All inputs of loaded records that have more than kInlineInputs.
  virtual Result<> load_inputs(std::span<Record* const> records) = 0;
  virtual Result<TxBody> body(const Hash256& id) = 0;  // kNotFound
  // Up to `limit` entries with height <= up_to, in order, after `after` if given. Reads nothing if
  // the backend knows that there are none (RocksDB).
  virtual Result<std::vector<DueEntry>> due(std::uint64_t up_to, std::optional<DueEntry> after,
                                            std::size_t limit) = 0;
  virtual Result<std::optional<BlockUndo>> block(std::uint64_t height) = 0;
  // Adds to `found` what people did to loaded records, by any process. Cost: nothing on RocksDB;
  // one statement on PostgreSQL.
  virtual Result<> load_marks(std::span<const Hash256> ids, Marks& found) = 0;
  // Once, at the end.
  virtual Result<> save(Changes changes) = 0;
};

// One moment of the store, for answers. Used by one thread.
class View {
 public:
  virtual ~View() = default;
  virtual const Tip& tip() const = 0;
  virtual Result<Counts> counts() = 0;
  virtual Result<> load(std::span<Record* const> records) = 0;
  virtual Result<> load_pages(std::span<const PageRef> pages) = 0;
  virtual Result<TxBody> body(const Hash256& id) = 0;
  virtual Result<bool> is_pruned(const Hash256& id) = 0;  // some parent's entry names it
  // Heads in the order of ids, after `after`; false from `each` ends it.
  virtual Result<> for_each(std::optional<Hash256> after,
                            const std::function<Result<bool>(const Record&)>& each) = 0;
  // (height since which it is unmined, id), in order.
  virtual Result<std::vector<DueEntry>> unmined(std::optional<DueEntry> after,
                                                std::size_t limit) = 0;
  virtual Result<std::vector<DueEntry>> due(std::optional<DueEntry> after, std::size_t limit) = 0;
  // The newest block below this height of which undo data are kept.
  virtual Result<std::optional<bus::Position>> block_below(std::uint64_t height) = 0;
  // Every pair in the index of pruned children, every block with undo data: for verify.
  virtual Result<> for_each_pruned(const std::function<Result<bool>(const PrunedRef&)>& each) = 0;
  virtual Result<> for_each_block(const std::function<Result<bool>(const BlockUndo&)>& each) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "rocksdb", "sqlite", "postgres"
  // Calls the body with a unit, all of it again when the database asks for another attempt: the
  // body has no effect but on the unit. It saves at its end, or leaves everything as it is.
  virtual Result<> run(Hold hold, const std::function<Result<>(Unit&)>& body) = 0;
  virtual Result<> read(const std::function<Result<>(View&)>& body) = 0;
  virtual Result<> flush() { return {}; }
  // Whether it can go on once what it stands on is there again (SQL servers).
  virtual bool can_wait() const { return false; }
  virtual std::uint64_t disk_bytes() const { return 0; }
  // How many records one step of cleanup works on: blocks wait while it holds the tip.
  virtual std::size_t records_a_step() const { return 2'000; }
};

}  // namespace coffer::txstore
