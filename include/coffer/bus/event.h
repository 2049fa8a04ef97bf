// What flows from the chain to its consumers, in order.
#pragma once

#include <memory>
#include <optional>
#include <variant>

#include <coffer/chain/block.h>

namespace coffer::bus {

// Where somebody stands on a chain: at Origin, or after a block.
struct Position {
  bool at_origin = true;
  Ordinal ordinal;  // meaningless at Origin
  chain::Point point;

  static Position origin() { return {}; }
  static Position after(Ordinal ordinal, chain::Point point) { return {false, ordinal, point}; }
  // How many blocks lie behind: 0 at Origin.
  std::uint64_t block_count() const { return at_origin ? 0 : ordinal.value + 1; }
  // The height that people mean, which counts from 0: that of the newest block; none at Origin.
  std::optional<std::uint64_t> tip_height() const {
    return at_origin ? std::nullopt : std::optional(ordinal.value);
  }
  friend bool operator==(const Position& a, const Position& b) {
    return a.block_count() == b.block_count() && a.point.hash == b.point.hash;
  }
};

struct BlockApplied {
  Ordinal ordinal;
  std::shared_ptr<const chain::Block> block;  // hashed, verified, with its number set
  // True when no rollback can reach it. CommitPolicy tells which blocks may share a commit (E2).
  bool below_window = false;
  // How many blocks the source is known to have beyond this one.
  std::uint64_t behind = 0;

  Position position() const { return Position::after(ordinal, block->point()); }
};

// The blocks after `to` are no longer on the chain.
struct RolledBack {
  Position to;
};

// A transaction arrived in the source's mempool.
struct TxSeen {
  std::shared_ptr<const chain::Block>
      tx;  // a Block without header whose only row is the transaction
  const Hash256& id() const { return tx->txs.front().id; }
};

// A transaction left it without being mined.
struct TxDropped {
  Hash256 id;
};

using Event = std::variant<BlockApplied, RolledBack, TxSeen, TxDropped>;

// Memory that an event holds, for the bound on queues.
std::size_t weight(const Event& event);

}  // namespace coffer::bus
