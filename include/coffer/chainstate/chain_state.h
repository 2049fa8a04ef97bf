// The chain of headers: ordinal ↔ number ↔ hash ↔ slot, the tip, and where a new block belongs.
//
// Columns (docs/formats/chainstate.md): chain_headers hash → header facts, for the chain and,
// within the window, for stale branches; chain_active ordinal → hash, number, slot; chain_stale
// ordinal‖hash; chain_meta identity and tip. Invariants: chain_active is gapless from 0 to the tip,
// each block's prev is its predecessor; numbers and slots never decrease along it; every commit
// leaves it so (one batch a block). Cost of connecting a block: two small puts, and one read unless
// it extends the tip.
#pragma once

#include <mutex>
#include <set>

#include <coffer/bus/event.h>
#include <coffer/chainstate/identity.h>

namespace coffer::chainstate {

struct HeaderInfo {
  Hash256 hash{};
  Hash256 prev{};
  Ordinal ordinal;
  BlockNumber number;
  Slot slot;
  std::int64_t time_unix_s = 0;
  bool epoch_boundary = false;

  bus::Position position() const { return bus::Position::after(ordinal, {slot, hash}); }
};

enum class Placement : std::uint8_t {
  kExtends,   // follows the tip
  kKnown,     // on the chain already
  kForks,     // follows an earlier block of the chain: the blocks after that one must go
  kDetached,  // its predecessor is not on the chain
};

struct Placed {
  Placement placement = Placement::kDetached;
  bus::Position parent;  // for kExtends and kForks
  Ordinal ordinal;       // the block's own, unless detached
};

struct Connected {
  Ordinal ordinal;
  std::optional<bus::RolledBack> rolled_back;  // to be told to consumers before the block
};

// Reads are thread-safe beside one writer.
class ChainState {
 public:
  static std::vector<kv::ColumnOptions> columns();

  // Checks that the database is of this network (E5), or holds no block yet, and finds the tip. The
  // first block that connects brings the identity with it.
  // Errors: kConflict (another network), kCorrupt, kUnavailable.
  static Result<std::unique_ptr<ChainState>> open(kv::Database& db, const chain::Network& network,
                                                  const Identity& identity, std::uint64_t window);

  std::optional<HeaderInfo> tip() const;
  bus::Position position() const;
  std::uint64_t window() const { return window_; }

  // Where the block belongs; changes nothing. The block must be hashed.
  Result<Placed> place(const chain::Block& block) const;

  // Puts the block after its parent, dropping what came after that one, in one commit. Fills in the
  // block's number and slot on Bitcoin. Only for kExtends and kForks.
  // Errors: kInvalidInput (number or slot do not fit), kConflict (the first block of another
  // network), kUnavailable.
  Result<Connected> connect(chain::Block& block, const Placed& placed);
  // Fills in number and slot of a block that is on the chain already.
  Result<> fill_in(chain::Block& block, Ordinal ordinal) const;

  // On the chain or on a stale branch; nothing if unknown.
  Result<std::optional<HeaderInfo>> header(const Hash256& hash) const;
  Result<std::optional<HeaderInfo>> at(Ordinal ordinal) const;
  // The position of a point on the chain; nothing if it is not there. Origin resolves to Origin.
  Result<std::optional<bus::Position>> resolve(const chain::Point& point) const;
  // The last block with a number <= the given one. Cost: O(log n) reads.
  Result<std::optional<HeaderInfo>> last_with_number(BlockNumber number) const;

  // The newest ancestor of `from` on the chain: `from` itself, or where its stale branch left.
  // Errors: kNotFound when its header is no longer kept, kCorrupt.
  Result<bus::Position> rejoin(const bus::Position& from) const;

  // Points of the chain from `from` back to the first block, newest first, at growing distances.
  Result<std::vector<chain::Point>> locator(const bus::Position& from) const;

  // Over all blocks of the chain in order. Cost: one scan.
  Result<Hash256> digest() const;
  // Every invariant of the header comment. Errors: kCorrupt naming the first that fails. Cost: one
  // scan.
  Result<> verify() const;

 private:
  struct ActiveEntry {
    Hash256 hash{};
    BlockNumber number;
    Slot slot;
  };
  // What the batch does to chain_stale, for the copy in memory once it is committed.
  struct StaleChange {
    std::vector<Bytes> added, removed;
  };
  ChainState(kv::Database& db, const chain::Network& network, const Identity& identity,
             std::uint64_t window)
      : db_(db), network_(network), identity_(identity), window_(window) {}
  Result<> load();
  Result<std::optional<ActiveEntry>> active(Ordinal ordinal) const;
  // Whether the block may be the chain's first: the network's own, and once the chain is longer
  // than the window, the stored one.
  Result<> check_beginning(const chain::Block& block) const;
  Result<HeaderInfo> header_of(const chain::Block& block, const Placed& placed) const;
  Result<> disconnect_after(kv::Batch& batch, const bus::Position& parent, StaleChange& change);
  void prune_stale(kv::Batch& batch, Ordinal tip, StaleChange& change) const;
  template <typename Below>
  Result<std::optional<HeaderInfo>> last_where(Below below) const;

  kv::Database& db_;
  const chain::Network network_;
  const Identity identity_;
  const std::uint64_t window_;
  kv::Column headers_, active_, stale_, meta_;
  mutable std::mutex mutex_;  // guards tip_
  std::optional<HeaderInfo> tip_;
  // The keys of chain_stale, in memory: walking a column that is mostly tombstones costs more with
  // every block. The writer's own.
  std::set<Bytes> stale_keys_;
};

}  // namespace coffer::chainstate
