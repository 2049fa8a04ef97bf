// The transaction store as a plain model in memory, for tests: it keeps all history and decides by
// looking at everything, without the engine and without retention::Judge. Written from X1–X9.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <coffer/txstore/types.h>

namespace coffer::txstore::test {

// What a store holds of one transaction, as comparable text. Blocks of other branches that can no
// longer come back are left out: a store drops them when it next changes the record.
std::string describe(const StoredTx& tx, std::span<const StoredOutput> outputs, const TxBody& body,
                     std::int64_t final_height);

// A list of heights and ids, each once.
std::string describe(std::string_view name,
                     const std::vector<std::pair<std::uint64_t, Hash256>>& entries);

class TxStoreModel {
 public:
  // `began_at_origin`: it has every parent that still matters.
  TxStoreModel(const Options& options, bool began_at_origin)
      : options_(options), began_at_origin_(began_at_origin) {}

  std::vector<ItemResult> create(std::span<const NewTx> txs);
  std::vector<SpendResult> spend(std::span<const SpendRequest> requests);
  std::vector<SpendResult> unspend(std::span<const Hash256> spenders);
  std::vector<ItemResult> set_mined(std::span<const Hash256> ids, const BlockRef& block,
                                    bool longest_chain);
  std::vector<ItemResult> unset_mined(std::span<const Hash256> ids, const BlockRef& block);
  std::vector<ItemResult> mark_conflicting(std::span<const Hash256> ids);
  std::vector<ItemResult> unmark_conflicting(std::span<const Hash256> ids);
  std::vector<ItemResult> remove(std::span<const Hash256> ids);
  std::vector<ItemResult> lock(std::span<const Hash256> ids);
  std::vector<ItemResult> unlock(std::span<const Hash256> ids);
  std::vector<ItemResult> freeze(std::span<const chain::Outpoint> outputs);
  std::vector<ItemResult> unfreeze(std::span<const chain::Outpoint> outputs);
  std::vector<ItemResult> reassign(std::span<const Reassignment> items);
  std::vector<ItemResult> preserve(std::span<const Hash256> ids, std::uint64_t until);
  // The tip has this height now. It only grows.
  void advance(std::uint64_t height);
  // Until nothing more is due.
  CleanupReport prune();

  // Damage, as no operation does it.
  void force_stamp(const Hash256& id, std::uint64_t delete_at_height);
  void force_erase(const Hash256& id);
  // Its spends are not given back.
  void force_conflicting(const Hash256& id, std::uint64_t delete_at_height);

  struct Judgement {
    retention::Reason reason = retention::Reason::kDeletable;
    std::optional<std::uint32_t> output;
    std::optional<std::uint64_t> until;
  };
  Judgement judge(const Hash256& id) const;  // stored

  std::uint64_t tip() const { return tip_; }
  std::int64_t final_height() const { return final_height_; }
  bool is_stored(const Hash256& id) const;
  // Null unless it is stored.
  const StoredTx* find(const Hash256& id) const;
  const StoredOutput* find_output(const chain::Outpoint& outpoint) const;
  // Whether a block of the longest chain has a transaction that spends it, or one of theirs.
  bool has_mined_descendant(const Hash256& id) const;
  bool is_pruned(const Hash256& id) const;
  // By scanning everything.
  Counts counts() const;
  // Every stored transaction in the order of ids.
  std::string describe_all() const;
  // What is due and what is unmined, in order.
  std::string describe_indexes() const;

  // Deletions by the arm that allowed them, and what else cleanup did.
  struct Arms {
    std::uint64_t mined = 0, conflicting = 0, expired = 0, preservation_ended = 0;
  };
  const Arms& arms() const { return arms_; }

 private:
  // One life of a transaction: from its creation to its deletion.
  struct Life {
    StoredTx tx;
    std::vector<StoredOutput> outputs;
    TxBody body;
    std::vector<MinedIn> blocks;  // all that ever had it
  };
  struct Tx {
    std::vector<Life> lives;
    bool stored = false;  // the last life goes on
    // What people did, which outlives a life.
    std::optional<std::uint64_t> preserve_until;
    bool locked = false;
    std::map<std::uint32_t, bool> frozen;
    std::map<std::uint32_t, std::pair<Hash256, std::uint64_t>> reassigned;
  };

  Life* stored(const Hash256& id);
  const Life* stored(const Hash256& id) const;
  StoredOutput* output(const chain::Outpoint& outpoint);
  std::optional<std::uint64_t> highest_height(const Life& life) const;
  static bool is_on_chain(const Life& life);
  bool is_at_or_below_final(std::optional<std::uint64_t> height) const;
  bool is_final_child(const Hash256& id) const;
  std::uint64_t spending_height(const Life& spender) const;

  // After a change at this height; at the tip if none is given.
  void restamp(Life& life, std::optional<std::uint64_t> height = std::nullopt);
  ItemResult create_one(const NewTx& tx);
  ItemResult check_input(const Life& spender, std::uint32_t input,
                         const std::optional<Hash256>& hash);
  SpendResult take_inputs(Life& spender, const std::vector<std::optional<Hash256>>& hashes);
  SpendResult release_inputs(Life& spender);
  void make_conflicting(const Hash256& id);
  void erase(const Hash256& id);
  bool expire(const Hash256& id);
  void put_off(const Hash256& id, const Judgement& judgement);

  const Options options_;
  const bool began_at_origin_;
  std::uint64_t tip_ = 0;
  bool at_origin_ = true;
  std::int64_t final_height_ = -1;
  std::map<Hash256, Tx> txs_;
  std::int64_t deleted_ = 0, parent_missing_ = 0;
  Arms arms_;
};

}  // namespace coffer::txstore::test
