// Transactions of the mempool that came before a parent of theirs. Bounded: the oldest gives way.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include <coffer/bus/event.h>

namespace coffer::txstore {

class WaitingTxs {
 public:
  WaitingTxs(std::size_t most, std::size_t most_bytes) : most_(most), most_bytes_(most_bytes) {}
  void add(const bus::TxSeen& seen, const Hash256& missing_parent);
  void remove(const Hash256& id);
  // Those that waited for this one.
  std::vector<bus::TxSeen> take(const Hash256& parent);
  std::size_t size() const { return by_id_.size(); }

 private:
  struct Waiting {
    bus::TxSeen seen;
    Hash256 parent{};
    std::uint64_t number = 0;  // of its place in the order
  };
  struct Place {
    std::uint64_t number = 0;
    Hash256 id{};
  };
  // Whether the one that it was given to still has it.
  bool is_taken(const Place& place) const;

  const std::size_t most_, most_bytes_;
  std::size_t bytes_ = 0;
  std::unordered_map<Hash256, Waiting, HashOfHash> by_id_;
  std::unordered_multimap<Hash256, Hash256, HashOfHash> by_parent_;
  std::uint64_t added_ = 0;
  std::deque<Place> order_;
};

}  // namespace coffer::txstore
