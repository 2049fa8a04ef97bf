// Transfers that wait for a group. Invariant: groups that are under way at the same time have no
// wallet and no id in common, so the committers of one process never wait for each other's locks.
// Not thread-safe: GroupCommit locks.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <coffer/token/store.h>

namespace coffer::token {

struct GroupItem {
  Transfer transfer;
  Actor actor;
  Store::Done done;
  bool was_sent = false;                           // see Pending
  unsigned passed_over = 0;                        // by groups that had one of its wallets
  std::optional<std::int64_t> blocked_at_ms = {};  // since when a wallet is locked elsewhere
};
using GroupItems = std::vector<std::unique_ptr<GroupItem>>;

class GroupQueue {
 public:
  static constexpr std::size_t kMaxGroup = 1'024;

  // How many wait, for a group or for a wallet.
  std::size_t size() const { return size_; }
  void add(std::unique_ptr<GroupItem> item);
  // Whether take() would give this one.
  bool is_free(const GroupItem& item) const;

  // All that can be decided now, oldest first, at most kMaxGroup. Their wallets and ids are taken
  // until release(). One that was passed over too often keeps younger ones away from its wallets.
  GroupItems take();
  // Returns how many wallets they had.
  std::size_t release(const GroupItems& items);

  // A wallet that another session has locked. Items that need it wait apart, so that they stall
  // nobody; one thread at a time serves it.
  void block(std::unique_ptr<GroupItem> item, const Uuid& wallet, std::int64_t now_ms);
  std::optional<Uuid> serve_blocked();
  // Of those that wait for it, the ones that nothing else keeps; taken until release().
  GroupItems take_blocked(const Uuid& wallet);
  // Those that have waited since that time or longer; they are out.
  GroupItems take_overdue(const Uuid& wallet, std::int64_t since_ms);
  // The wallet is as others are; what still waits for it goes back to the others.
  void unblock(const Uuid& wallet);
  // Whether somebody waits for it. If not it is as others are.
  bool is_still_blocked(const Uuid& wallet);

  // Everything that waits; it is out.
  GroupItems take_all();

 private:
  using Ids = std::unordered_set<Uuid, HashOfHash>;
  struct Blocked {
    std::list<std::unique_ptr<GroupItem>> items;
    bool is_served = false;
  };
  static constexpr unsigned kMaxPassedOver = 8;

  void reserve(const GroupItems& items);
  Blocked* find_blocked(const Transfer& transfer);

  std::size_t size_ = 0;
  std::list<std::unique_ptr<GroupItem>> waiting_;  // oldest first
  std::unordered_map<Uuid, Blocked, HashOfHash> blocked_;
  Ids busy_wallets_, busy_ids_;
};

}  // namespace coffer::token
