// What a Consumer holds: blocks that wait for their commit, and transactions that wait for a
// parent.
#pragma once

#include "bus/commit_policy.h"
#include "txstore/references.h"
#include "txstore/store_impl.h"
#include "txstore/waiting.h"

namespace coffer::txstore {

inline constexpr std::size_t kHeldBlocks = 4'000, kHeldBytes = 64u << 20;
inline constexpr std::size_t kMostWaiting = 10'000, kMostWaitingBytes = 32u << 20;

struct Consumer::Impl {
  explicit Impl(Store& the_store)
      : store(the_store),
        impl(*the_store.impl_),
        policy({kHeldBlocks, kHeldBytes, impl.options.window}),
        committed(the_store.tip().position),
        position(committed) {}

  Result<> open();
  // The unmined ones after `after`, which moves on; none at the end.
  Result<std::vector<Hash256>> next_unmined(std::optional<DueEntry>& after);
  Result<> mark_absent();
  Result<> index_references(std::span<const Hash256> ids);
  Result<> load_held(Workspace& work);
  Result<> commit();
  // Steps until nothing is due, or until `work` transactions were looked at.
  Result<> clean(std::uint64_t work);
  Result<> roll_back(const bus::Position& to);
  // Another process that follows into the same database may have led the store elsewhere: then this
  // one goes on from there. Errors: kUnavailable.
  Result<> check_tip(const Workspace& work);
  void adopt_tip();
  // Whether it was stored, or is valid again.
  Result<bool> see(const bus::TxSeen& seen);
  Result<> see_waiting(std::vector<Hash256> arrived);
  std::span<const chain::Outpoint> removed_by(const chain::Block& block);

  Store& store;
  Store::Impl& impl;
  const bus::CommitPolicy policy;
  std::vector<bus::BlockApplied> held;
  std::uint64_t held_txs = 0;
  bus::HeldBlocks held_size;
  WaitingTxs waiting{kMostWaiting, kMostWaitingBytes};
  ReferenceIndex references;
  bool redeem_removed = false;  // this process knows that the first Allegra block was applied
  bool cleanup_due = true;

  bus::Position committed;  // where this process left the store
  bool led_elsewhere = false;

  mutable std::mutex mutex;
  bus::Position position;  // with what is held
};

}  // namespace coffer::txstore
