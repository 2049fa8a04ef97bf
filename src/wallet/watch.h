// What the follower looks for in blocks, in memory: a yes may be wrong and is then found out by the
// database, a no is always right.
#pragma once

#include "sql/connection.h"
#include "wallet/tx_view.h"

namespace coffer::wallet {

// 64-bit hashes. Open addressing, at most half full: one cache line for most answers.
class HashSet64 {
 public:
  void insert(std::uint64_t hash);
  bool contains(std::uint64_t hash) const;
  std::size_t size() const { return used_; }

 private:
  std::vector<std::uint64_t> slots_;  // 0: free
  std::size_t used_ = 0;
};

// Not thread-safe.
class WatchSet {
 public:
  // Whether a transaction may pay to a watched script, or name a watched outpoint.
  bool may_touch(const TxView& view) const;
  bool may_own(ByteView script) const;
  bool may_name(const chain::Outpoint& outpoint) const;

  void add_script(ByteView script);
  void add_outpoint(const chain::Outpoint& outpoint);

  // Around a transaction that refreshes: start() forgets how far one came that was not committed,
  // because others may get its ids; keep() is for after the commit. move() is for one that stores
  // another position.
  void start() { marks_ = kept_; }
  void keep() { kept_ = marks_; }
  void move(Bytes position) { marks_.position = std::move(position); }
  // Reads what is new since the last time: all scripts, the outpoints of unspent coins and those
  // that transactions name that no block of the chain has: unconfirmed ones, and those that a
  // person said to be in a block. All of it anew where the position is not the one that was kept:
  // then another process follows the same chain, and may have disconnected old transactions.
  // Call it where nobody else writes, before writing. Cost: what is new; four look-ups if nothing
  // is.
  Result<> refresh(sql::Transaction& sql);
  // Whether the next refresh() would find something. Cost: one statement.
  Result<bool> is_stale(sql::Reader& sql) const;
  // The outpoints that transactions above this height name; before they are disconnected.
  Result<> add_disconnected(sql::Transaction& sql, std::int64_t above_height);

 private:
  struct Marks {
    std::int64_t address = 0, transaction = 0, coin = 0;
    std::optional<Bytes> position;
    friend bool operator==(const Marks&, const Marks&) = default;
  };
  static Result<Marks> newest(sql::Reader& sql);
  Result<> add_outpoints(sql::Transaction& sql, std::string_view text, sql::Params params);

  HashSet64 scripts_, outpoints_;
  Marks marks_, kept_;
};

}  // namespace coffer::wallet
